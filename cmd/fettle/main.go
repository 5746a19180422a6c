// Command fettle knows the traps that Linux hosts fall into: it recognises,
// checks, explains, fixes and undoes them.
package main

import (
	"os"

	"fettle/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
