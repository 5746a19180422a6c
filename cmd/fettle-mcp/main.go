// Command fettle-mcp lets an assistant look at hosts through fettle, over the Model Context Protocol.
package main

import (
	"os"

	"fettle/cli/mcp"
)

func main() { os.Exit(mcp.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
