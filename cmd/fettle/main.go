// Command fettle recognises, checks, explains, fixes and undoes traps of Linux
// hosts.
package main

import (
	"os"

	"fettle/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
