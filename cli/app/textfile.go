package app

import (
	"path/filepath"

	"fettle/internal/files"
)

// TextfileName refuses a file of --textfile that node_exporter does not read.
// Empty: there is none.
func TextfileName(name string) error {
	if name != "" && filepath.Ext(name) != ".prom" {
		return Usagef("--textfile %s: node_exporter reads files that end in .prom", name)
	}
	return nil
}

// Textfile refuses one that cannot be made, too, before anything is done.
func Textfile(name string) error {
	if err := TextfileName(name); err != nil || name == "" {
		return err
	}
	if err := files.Makeable(filepath.Dir(name)); err != nil {
		return Usagef("--textfile %s: %w", name, err)
	}
	return nil
}
