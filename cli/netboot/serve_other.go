//go:build !linux

package netboot

import (
	"context"

	"fettle/cli/app"
)

func runServe(context.Context, *app.App, *serveOptions) error {
	return app.Failf("fettle netboot serve runs on Linux only")
}
