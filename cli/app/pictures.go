package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fettle/internal/chart"
	"fettle/internal/files"
)

// Pictures are the files that flags name for drawings, by format.
type Pictures map[string]string

// Writable refuses, before anything is measured, files that cannot be made.
func (p Pictures) Writable() error {
	for format, name := range p {
		if name == "" {
			continue
		}
		if _, err := FindLab(); err != nil {
			return Failf("--%s: %w", format, err)
		}
		if files.Special(name) {
			continue
		}
		if err := files.Makeable(filepath.Dir(name)); err != nil {
			return Usagef("--%s %s: %w", format, name, err)
		}
	}
	return nil
}

// Write has fettle-lab draw each of them, whole or not at all.
func (p Pictures) Write(what chart.Picture) error {
	for format, name := range p {
		if name == "" {
			continue
		}
		if err := files.Replace(name, func(w io.Writer) error { return drawn(w, format, what) }); err != nil {
			return Failf("--%s %s: %w", format, name, files.WithoutPath(err))
		}
	}
	return nil
}

// drawn is the picture that fettle-lab draws.
func drawn(w io.Writer, format string, what chart.Picture) error {
	bin, err := FindLab()
	if err != nil {
		return err
	}
	in, err := json.Marshal(what)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also after Ctrl-C has ended the measuring
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, chart.DrawVerb, format)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), w, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", labProgram, err, strings.TrimSpace(said.String()))
	}
	return nil
}
