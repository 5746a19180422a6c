// Command fettle-lab is fettle's proving ground: throwaway machines, proofs,
// experiments, and block caches measured and simulated.
package main

import (
	"os"

	"fettle/cli/proving"
)

func main() { os.Exit(proving.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
