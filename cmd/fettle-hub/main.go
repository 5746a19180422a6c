// Command fettle-hub gathers what many hosts' agents report, keeps it, and
// shows it.
package main

import (
	"os"

	"fettle/cli/hub"
)

func main() { os.Exit(hub.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
