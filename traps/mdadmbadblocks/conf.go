package mdadmbadblocks

import (
	"context"
	"fmt"
	"strings"

	"fettle/host"
	"fettle/trap"
)

// confFiles lists what mdadm reads, in its order: Debian builds it with
// /etc/mdadm/mdadm.conf, and /etc/mdadm.conf only where that is absent; others
// with /etc/mdadm.conf. Files in the .conf.d beside it follow (mdadm 4.2,
// config.c load_conffile; Debian's debian/rules CONFFILE).
func confFiles(ctx context.Context, h *host.Host) (main string, all []string, err error) {
	main = "/etc/mdadm.conf"
	if there, err := h.Exists(ctx, "/etc/mdadm"); err != nil {
		return "", nil, err
	} else if there {
		main = "/etc/mdadm/mdadm.conf"
	}
	all = []string{main}
	if there, err := h.Exists(ctx, main); err != nil {
		return "", nil, err
	} else if !there && main != "/etc/mdadm.conf" {
		all = append(all, "/etc/mdadm.conf")
	}
	more, err := h.Glob(ctx, main+".d", "*.conf")
	return main, append(all, more...), err
}

// setting is a CREATE line's word on bad blocks lists.
type setting struct {
	where string // file:line
	off   bool   // bbl=no
}

// conf is what mdadm's configuration says.
type conf struct {
	main     string
	create   int // line of the main file's last CREATE, 1-based; 0: none
	settings []setting
	arrays   bool // names an array
}

// readConf reads mdadm.conf(5): a line continues while the next begins with
// white space; keywords count in any case and from three letters on.
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
		keyword := ""
		for i, line := range strings.Split(string(b), "\n") {
			text, _, _ := strings.Cut(line, "#")
			words := strings.Fields(text)
			if len(words) == 0 {
				continue
			}
			if line[0] != ' ' && line[0] != '\t' {
				keyword = strings.ToLower(words[0])
				words = words[1:]
			}
			if isKeyword(keyword, "array") {
				c.arrays = true
			}
			if !isKeyword(keyword, "create") {
				continue
			}
			if file == main {
				c.create = i + 1
			}
			for _, w := range words {
				if v, ok := strings.CutPrefix(strings.ToLower(w), "bbl="); ok {
					c.settings = append(c.settings, setting{fmt.Sprintf("%s:%d", file, i+1), v == "no"})
				}
			}
		}
	}
	return c, nil
}

func isKeyword(word, keyword string) bool {
	return len(word) >= 3 && strings.HasPrefix(keyword, word)
}

// off tells whether new arrays get no list: the last word counts.
func (c *conf) off() bool {
	return len(c.settings) > 0 && c.settings[len(c.settings)-1].off
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
	if c.off() {
		r.Clear(confSubject, "new arrays get no bad blocks list", trap.Ev(c.settings[len(c.settings)-1].where, "CREATE bbl=no"))
		return nil
	}
	ev := trap.Ev(c.main, "no CREATE bbl=no")
	if n := len(c.settings); n > 0 {
		ev = trap.Ev(c.settings[n-1].where, "CREATE bbl=yes")
	}
	r.Found(trap.Finding{Subject: confSubject, Severity: trap.Notice, Evidence: []trap.Evidence{ev},
		Summary: "arrays and spares added from now on will get a bad blocks list: mdadm's configuration does not turn it off"})
	return nil
}
