//go:build !linux

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) labCmd() *cobra.Command {
	return &cobra.Command{Use: "lab", Short: "Show a trap, and its fix, on a real kernel in a throwaway machine",
		RunE: func(*cobra.Command, []string) error {
			return &status{exitFailed, errors.New("fettle lab needs Linux")}
		}}
}

func labRole([]string) (int, bool) { return 0, false }
