//go:build !linux

package netboot

import (
	"context"

	"fettle/cli/app"
)

func runConsole(context.Context, *app.App, way, consoleOptions) error {
	return app.Failf("fettle netboot console runs on Linux only")
}
