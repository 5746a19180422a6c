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

// agentProgram is the agent of a hub: a program of its own, which most hosts do
// not need.
const agentProgram = "fettle-agent"

// InLab is a verb of fettle-lab, which it is handed to as it was typed.
func InLab(use, short string) *cobra.Command { return elsewhere(labProgram, use, short, 1) }

// InAgent is fettle agent, whose verbs are fettle-agent's.
func InAgent(short string) *cobra.Command {
	return elsewhere(agentProgram, "agent", short, 2)
}

// elsewhere is a verb of another program, which is handed the words of the
// command line from a number on.
func elsewhere(program, use, short string, from int) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Long: short + ".\n\nThis is in a program of its own, " + program + ", which is in the same folder as fettle " +
			"or on\nPATH; see its --help.",
		DisableFlagParsing: true,
		Annotations:        NoRules,
		RunE: func(c *cobra.Command, args []string) error {
			bin, err := find(program)
			if err != nil {
				return Failf("%s: %w", c.CommandPath(), err)
			}
			err = syscall.Exec(bin, append([]string{handedOver + program}, typed(c, args, from)...), os.Environ())
			return Failf("starting %s: %w", bin, err)
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			bin, err := find(program)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			out, err := exec.Command(bin, append(append([]string{cobra.ShellCompRequestCmd}, typed(c, args, from)...), begun)...).Output()
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

// typed is the command line without its first words: "measure", "cachesim", …
func typed(c *cobra.Command, args []string, from int) []string {
	return append(strings.Fields(c.CommandPath())[from:], args...)
}

// handedOver begins the name by which another program is called that does a verb of
// fettle's: its messages are then fettle's. The program's own name stays at the end,
// for programs that are several in one file and go by it.
const handedOver = "fettle/"

// CalledAs is the name in a program's messages: its own, or fettle's where fettle called it.
func CalledAs(name string) string {
	if len(os.Args) > 0 && os.Args[0] == handedOver+name {
		return "fettle"
	}
	return name
}

// FindLab finds fettle-lab beside this program, or on PATH.
func FindLab() (string, error) { return find(labProgram) }

// FindAgent finds fettle-agent beside this program, or on PATH.
func FindAgent() (string, error) { return find(agentProgram) }

// itself is the path of this program.
func itself() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(self)
}

func find(program string) (string, error) {
	self, err := itself()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), program)
	if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
		return beside, planted(beside, self)
	}
	bin, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf(
			"the program %s is neither beside %s nor on PATH; make builds it, and so does go build ./cmd/%[1]s",
			program,
			self,
		)
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
			return fmt.Errorf("%s is not run: %s belongs to another user, or others can write to it", bin, name)
		}
	}
	return nil
}
