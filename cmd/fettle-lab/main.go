// Command fettle-lab proves traps and remedies: it runs throwaway machines and
// experiments, and measures and simulates block caches.
package main

import (
	"os"

	"fettle/cli/proving"
)

func main() { os.Exit(proving.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
