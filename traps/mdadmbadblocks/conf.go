package mdadmbadblocks

import (
	"context"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
)

// confFiles lists what mdadm reads, in its order (mdadm 4.2, config.c
// load_conffile): one file, and the *.conf of the folder beside it. Debian
// builds it with /etc/mdadm/mdadm.conf, and /etc/mdadm.conf only where that is
// absent; upstream and the RHEL family the other way round.
func confFiles(ctx context.Context, h *host.Host) (main string, all []string, err error) {
	candidates := []string{"/etc/mdadm.conf", "/etc/mdadm/mdadm.conf"}
	if debian, err := h.Exists(ctx, "/etc/mdadm"); err != nil {
		return "", nil, err
	} else if debian {
		candidates[0], candidates[1] = candidates[1], candidates[0]
	}
	main = candidates[0]
	for _, c := range candidates {
		there, err := h.Exists(ctx, c)
		if err != nil {
			return "", nil, err
		}
		if there {
			main = c
			break
		}
	}
	more, err := h.Glob(ctx, main+".d", "[^.]*.conf")
	return main, append([]string{main}, more...), err
}

// word is one of mdadm.conf's, with its quotes taken off; from and to are
// where it is in the file, quotes and all.
type word struct {
	text           string
	line, from, to int
}

// confLines reads mdadm.conf(5) as config.c conf_line does: a line goes on
// while the next one begins with a blank; "#" begins a comment only where a
// word could; quotes end with the line at the latest.
func confLines(text string) [][]word {
	var lines [][]word
	number := 0
	at := 0
	for raw := range strings.SplitAfterSeq(text, "\n") {
		number++
		start := at
		at += len(raw)
		raw = strings.TrimSuffix(raw, "\n")
		first := true
		for i := 0; i < len(raw); {
			if raw[i] == ' ' || raw[i] == '\t' {
				i++
				continue
			}
			if raw[i] == '#' {
				break
			}
			w, end := confWord(raw[i:])
			word := word{w, number, start + i, start + i + end}
			if first && i == 0 || len(lines) == 0 {
				lines = append(lines, nil)
			}
			first = false
			lines[len(lines)-1] = append(lines[len(lines)-1], word)
			i += end
		}
	}
	return lines
}

// confWord reads the word that s begins with, and how long it is with quotes.
func confWord(s string) (text string, end int) {
	var b strings.Builder
	quote := byte(0)
	for end < len(s) && (quote != 0 || s[end] != ' ' && s[end] != '\t') {
		switch c := s[end]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			b.WriteByte(c)
		}
		end++
	}
	return b.String(), end
}

// isKeyword: keywords count in any case, and from three letters on
// (config.c match_keyword).
func isKeyword(word, keyword string) bool {
	return len(word) >= 3 && len(word) <= len(keyword) && strings.EqualFold(word, keyword[:len(word)])
}

// setting is a CREATE line's word on bad blocks lists. mdadm takes bbl=no and
// bbl=yes, in any case, and complains of all else.
type setting struct {
	word
	file string
	off  bool
}

func (s *setting) where() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// settingsOf returns the settings in a file's text, and the last word of its
// last CREATE line.
func settingsOf(file, text string) (out []setting, lastCreate *word) {
	for _, line := range confLines(text) {
		if !isKeyword(line[0].text, "create") {
			continue
		}
		lastCreate = &line[len(line)-1]
		for _, w := range line[1:] {
			if no := strings.EqualFold(w.text, "bbl=no"); no || strings.EqualFold(w.text, "bbl=yes") {
				out = append(out, setting{w, file, no})
			}
		}
	}
	return out, lastCreate
}

// conf is what mdadm's configuration says.
type conf struct {
	main     string // the file that mdadm reads first, there or not
	settings []setting
	arrays   bool // names an array
	groups   bool // gives an array a spare-group, whose spares mdadm --monitor moves
}

func readConf(ctx context.Context, h *host.Host) (*conf, error) {
	main, files, err := confFiles(ctx, h)
	if err != nil {
		return nil, err
	}
	c := &conf{main: main}
	for _, file := range files {
		b, err := h.ReadFile(ctx, file)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		more, _ := settingsOf(file, string(b))
		c.settings = append(c.settings, more...)
		for _, line := range confLines(string(b)) {
			if !isKeyword(line[0].text, "array") {
				continue
			}
			c.arrays = true
			for _, w := range line[1:] {
				c.groups = c.groups || strings.HasPrefix(strings.ToLower(w.text), "spare-group=")
			}
		}
	}
	return c, nil
}

// last is the setting that counts; nil where nothing is said.
func (c *conf) last() *setting {
	if len(c.settings) == 0 {
		return nil
	}
	return &c.settings[len(c.settings)-1]
}

// withoutList changes the file's words on bad blocks lists to bbl=no, or adds
// one to its last CREATE line, or a line.
func withoutList(text string) string {
	settings, create := settingsOf("", text)
	for i := len(settings) - 1; i >= 0; i-- {
		s := settings[i]
		text = text[:s.from] + "bbl=no" + text[s.to:]
	}
	if len(settings) > 0 {
		return text
	}
	if create != nil {
		with := text[:create.to] + " bbl=no" + text[create.to:]
		if s, _ := settingsOf("", with); len(s) == 1 { // not where a quote was left open
			return with
		}
	}
	if text != "" {
		text = strings.TrimRight(text, "\n") + "\n\n# No bad blocks lists on members added from now on (fettle, mdadm-bad-blocks)\n"
	}
	return text + "CREATE bbl=no\n"
}

// checkConf reports what arrays made from now on will get.
func checkConf(ctx context.Context, h *host.Host, r *trap.Report) error {
	c, err := readConf(ctx, h)
	if err != nil {
		r.Unknown(confSubject, err)
		return nil
	}
	if !h.Running() && !c.arrays {
		r.NotApplicable("", "mdadm's configuration names no array")
		return nil
	}
	last := c.last()
	switch {
	case last == nil:
		r.Found(trap.Finding{Subject: confSubject, Severity: trap.Notice, Evidence: []trap.Evidence{trap.Ev(c.main, "no CREATE bbl=no")},
			Summary: "arrays and spares added from now on will get a bad blocks list: mdadm's configuration does not turn it off"})
	case !last.off:
		r.Found(trap.Finding{Subject: confSubject, Severity: trap.Notice, Evidence: []trap.Evidence{trap.Ev(last.where(), "CREATE bbl=yes")},
			Summary: "arrays and spares added from now on will get a bad blocks list: mdadm's configuration asks for it"})
	default:
		r.Clear(confSubject, "new arrays get no bad blocks list", trap.Ev(last.where(), "CREATE bbl=no"))
	}
	return nil
}
