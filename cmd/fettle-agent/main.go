// Command fettle-agent checks its host on a schedule and reports to a hub.
package main

import (
	"os"

	"fettle/cli/agent"
)

func main() { os.Exit(agent.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
