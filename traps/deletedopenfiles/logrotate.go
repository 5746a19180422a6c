package deletedopenfiles

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// rotation is one block of logrotate's configuration.
type rotation struct {
	file     string
	line     int // of its first pattern
	patterns []string
	copies   bool   // copytruncate: the file is never renamed
	script   string // postrotate and lastaction
}

func (b *rotation) where() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// silent tells whether nobody is told to open the new log.
func (b *rotation) silent() bool { return strings.TrimSpace(b.script) == "" && !b.copies }

func (b *rotation) says() string {
	switch {
	case b.copies:
		return "copytruncate"
	case b.silent():
		return "no postrotate, no copytruncate"
	}
	return "postrotate " + strings.Join(strings.Fields(b.script), " ")
}

// reloads tells whether the script asks the writer to open its log again,
// rather than restarting it.
func (b *rotation) reloads() bool {
	return slices.ContainsFunc([]string{"reload", "HUP", "USR1", "rotate", "reopen"}, func(s string) bool {
		return strings.Contains(b.script, s)
	})
}

// rotationOf finds the block that rotates a log; nil when there is none. The
// files are those that Debian's and RHEL's logrotate.conf name.
func rotationOf(ctx context.Context, h *host.Host, log string) (*rotation, error) {
	files, err := h.Glob(ctx, "/etc/logrotate.d", "*")
	if err != nil {
		return nil, err
	}
	for _, f := range append([]string{"/etc/logrotate.conf"}, files...) {
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, block := range parseLogrotate(f, string(b)) {
			for _, p := range block.patterns {
				if ok, _ := path.Match(p, log); ok {
					return block, nil
				}
			}
		}
	}
	return nil, nil
}

// parseLogrotate reads the blocks of a logrotate configuration file
// (logrotate(8), "configuration file"). What it does not know it passes over.
func parseLogrotate(file, text string) []*rotation {
	var out []*rotation
	var pending *rotation // patterns seen, no brace yet
	var in *rotation      // inside its braces
	var script strings.Builder
	inScript, keep := false, false
	num := 0
	for line := range strings.Lines(text) {
		num++
		s := strings.TrimSpace(line)
		if inScript {
			switch {
			case s == "endscript":
				inScript = false
				if keep {
					in.script += script.String()
				}
				script.Reset()
			default:
				script.WriteString(line)
			}
			continue
		}
		if s == "" || s[0] == '#' {
			continue
		}
		if in == nil {
			head, body, brace := strings.Cut(s, "{")
			for _, w := range words(head) {
				if !strings.HasPrefix(w, "/") {
					break // a global directive
				}
				if pending == nil {
					pending = &rotation{file: file, line: num}
				}
				pending.patterns = append(pending.patterns, w)
			}
			if !brace || pending == nil {
				continue
			}
			in, pending = pending, nil
			out = append(out, in)
			if s = strings.TrimSpace(body); s == "" {
				continue
			}
		}
		word, _, _ := strings.Cut(strings.Fields(s)[0], "}")
		switch word {
		case "copytruncate", "copy":
			in.copies = true
		case "postrotate", "lastaction":
			inScript, keep = true, true
			continue
		case "prerotate", "firstaction", "preremove":
			inScript, keep = true, false
			continue
		}
		if strings.HasSuffix(s, "}") {
			in = nil
		}
	}
	return out
}

// words splits at blanks; quotes keep a name with blanks together.
func words(s string) []string {
	var out []string
	var w strings.Builder
	var quote rune
	for _, c := range s + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			if w.Len() > 0 {
				out = append(out, w.String())
				w.Reset()
			}
		default:
			w.WriteRune(c)
		}
	}
	return out
}
