// Command fettle-hub collects, stores and shows the reports of many hosts'
// agents.
package main

import (
	"os"

	"fettle/cli/hub"
)

func main() { os.Exit(hub.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
