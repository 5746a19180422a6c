package ui

import (
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// Page shows text that may be longer than the terminal through $PAGER, or
// less; elsewhere, and where there is no pager, it writes it.
func Page(w io.Writer, text string) error {
	if !fits(w, text) {
		if err := page(text); err == nil {
			return nil
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// fits tells whether text can be read without a pager.
func fits(w io.Writer, text string) bool {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return true
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	return err != nil || rows <= 0 || strings.Count(text, "\n") < rows // a serial console says 0
}

func page(text string) error {
	words := strings.Fields(os.Getenv("PAGER"))
	if len(words) == 0 {
		words = []string{"less"}
	}
	bin, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(bin, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // colours; stay where the text fits
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	cmd.Wait() // what it was left with is its reader's affair
	return nil
}
