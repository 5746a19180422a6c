package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// labProgram holds the verbs that no host needs: throwaway machines, and
// curves.
const labProgram = "fettle-lab"

// InLab is a verb of fettle-lab, which it is handed to as it was typed.
func InLab(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Long:               short + ".\n\nThis is in a program of its own, fettle-lab, which stands beside fettle or on\nPATH; with --help it says more.",
		DisableFlagParsing: true,
		Annotations:        NoRules,
		RunE: func(c *cobra.Command, args []string) error {
			bin, err := FindLab()
			if err != nil {
				return Failf("%s: %w", c.CommandPath(), err)
			}
			err = syscall.Exec(bin, append([]string{labProgram}, labArgs(c, args)...), os.Environ())
			return Failf("starting %s: %w", bin, err)
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			bin, err := FindLab()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			out, err := exec.Command(bin, append(append([]string{cobra.ShellCompRequestCmd}, labArgs(c, args)...), begun)...).Output()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := len(lines) - 1
			directive, _ := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
			return lines[:last], cobra.ShellCompDirective(directive)
		},
	}
}

// labArgs is the command line without the program's name: "measure", "cachesim", …
func labArgs(c *cobra.Command, args []string) []string {
	return append(strings.Fields(c.CommandPath())[1:], args...)
}

// FindLab finds fettle-lab beside this program, or on PATH.
func FindLab() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), labProgram)
	if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
		return beside, planted(beside, self)
	}
	bin, err := exec.LookPath(labProgram)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither beside %s nor on PATH; make builds both, and so does go build ./cmd/%[1]s", labProgram, self)
	}
	return bin, planted(bin, self)
}

// planted refuses a program that neither root, nor this user, nor the owner of
// this very program has put there: fettle may lie in /tmp, and PATH name
// folders where others may write.
func planted(bin, self string) error {
	trusted := []uint32{0, uint32(os.Geteuid()), owner(self)}
	for _, name := range []string{bin, filepath.Dir(bin)} {
		st, err := os.Stat(name)
		if err != nil {
			return err
		}
		// In a folder such as /tmp others cannot replace what is not theirs.
		open := st.Mode().Perm()&0o002 != 0 && st.Mode()&os.ModeSticky == 0
		if open || !slices.Contains(trusted, owner(name)) {
			return fmt.Errorf("%s is not started: %s belongs to somebody else, or others may write to it", bin, name)
		}
	}
	return nil
}
