package configurationrefused

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
)

// validator is a command that checks a service's configuration.
type validator struct {
	name string
	args []string
	// lacks is what it complains of last where all else is well: a folder that its unit makes.
	lacks string
}

func command(name string, args ...string) validator { return validator{name: name, args: args} }

// String is the command as somebody types it.
func (v validator) String() string { return strings.Join(append([]string{v.name}, v.args...), " ") }

var (
	// beyond are reasons of a refusal that lie in how the program is run here: without network,
	// with a few folders to write to, and nothing else that the running service has.
	beyond = lazy.Regexp(`(?i)permission denied|operation not permitted|read-only file system|host not found in|could not resolve|` +
		`name or service not known|temporary failure in name resolution|interface does not exist|cannot assign requested address|` +
		`no such device|address family not supported|missing privilege separation directory|cannot allocate memory|` +
		`unknown host|failed to resolve|DNS lookup`)
	stamp = lazy.Regexp(`^(?:\[[^\]]*\d[^\]]*\] |\d{4}[-/]\d\d[-/]\d\d[T ][\d:.]+Z?[| ]*(?:\d+#\d+: )?|\[(?:ALERT|NOTICE|WARNING)\] *\(\d+\) *: *)+`)
	pid   = lazy.Regexp(`\b\d+#\d+: |\(\d{2,}\) *: *`)
)

// judge runs the validator. Of what it prints, the first line with one of marks tells why it
// refuses; without marks, the first line.
func (v validator) judge(marks []string) func(ctx context.Context, h *host.Host) verdict {
	return func(ctx context.Context, h *host.Host) verdict {
		out, err := h.Run(ctx, v.name, v.args...)
		if errors.Is(err, host.ErrNoCommand) {
			return verdict{err: fmt.Errorf("%s: %w", v.name, err)}
		}
		if err != nil {
			return verdict{err: err}
		}
		if out.Exit == 0 {
			return verdict{ev: trap.Ev(v.String(), "exit status 0")}
		}
		if last := lastLine(string(out.Stdout) + string(out.Stderr)); v.lacks != "" && last == v.lacks {
			return verdict{ev: trap.Ev(v.String(), "read its configuration, then: %s", last)}
		}
		said := telling(string(out.Stderr)+"\n"+string(out.Stdout), marks)
		if beyond().Match(out.Stderr) || beyond().MatchString(said) {
			return verdict{err: fmt.Errorf("%s cannot tell without network and the files of the running service: %s", v, said)}
		}
		return verdict{refused: said, ev: trap.Ev(v.String(), "exit status %d: %s", out.Exit, said), command: true}
	}
}

func lastLine(said string) string {
	said = strings.TrimSpace(said)
	return strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])
}

// telling is the line that says what is wrong, without times and process numbers.
func telling(text string, marks []string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "loaded serial") {
			lines = append(lines, line)
		}
	}
	for _, m := range marks {
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, m) }); i >= 0 {
			return plain(lines[i])
		}
	}
	if len(lines) == 0 {
		return "no reason given"
	}
	return plain(lines[0])
}

func plain(line string) string {
	return pid().ReplaceAllString(stamp().ReplaceAllString(line, ""), "")
}
