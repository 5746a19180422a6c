package bisect

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// ours are settings that no repository's configuration overrides: its hooks
// are not run at each commit, and its file system monitor is not asked.
var ours = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}

// git runs one git command in a repository and returns what it prints.
func git(ctx context.Context, repo string, args ...string) (string, error) {
	return gitWith(ctx, repo, nil, args...)
}

// gitWith is git with something to read.
func gitWith(ctx context.Context, repo string, in io.Reader, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", slices.Concat(ours, []string{"-C", repo}, args)...)
	// Without SUDO_UID git refuses, as root under sudo too, a repository of
	// somebody else whose configuration would decide what is run
	// (git-config(1), safe.directory).
	cmd.Env = append(without(environ(), "SUDO_UID"), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Stdin = in
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if msg := strings.TrimSpace(stderr.String()); msg != "" {
			return "", fmt.Errorf("git %s: %s", args[0], msg)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// environ is the environment without what ties git to one repository: hooks
// set it, and a checkout would be made in the user's work tree (git(1); of the
// list of git rev-parse --local-env-vars, all but the configuration).
func environ() []string {
	return without(os.Environ(), "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE",
		"GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS",
		"GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE")
}

func without(env []string, names ...string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(names, name)
	})
}
