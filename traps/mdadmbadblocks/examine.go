package mdadmbadblocks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
)

// examine reads what mdadm --examine printed of the member: the form in
// which sosreports hold a superblock. tableErr is why it was not read itself.
func (m *member) examine(ctx context.Context, h *host.Host, tableErr error) {
	out, err := h.Run(ctx, "mdadm", "--examine", "/dev/"+m.name)
	if err != nil || out.Exit != 0 {
		m.err = tableErr
		if errors.Is(tableErr, host.ErrNotCollected) {
			m.err = fmt.Errorf("the superblock of /dev/%s, or what mdadm --examine says of it: %w", m.name, host.ErrNotCollected)
		}
		return
	}
	list, bad, ok := parseExamine(string(out.Stdout))
	if !ok {
		m.err = fmt.Errorf("mdadm --examine /dev/%s: no version 1 superblock in what it printed", m.name)
		return
	}
	m.hasList = list != ""
	m.evidence = append(m.evidence, trap.Ev("mdadm --examine /dev/"+m.name, "Bad Block Log: %s", orNone(list)))
	m.unlisted = bad && len(m.bad) == 0
}

// parseExamine finds the line "Bad Block Log : 512 entries available at
// offset 16 sectors[ - bad blocks present.]" (mdadm 4.2, super1.c
// examine_super1). ok: this is a version 1 superblock.
func parseExamine(text string) (list string, bad, ok bool) {
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(line, ":")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		switch k {
		case "Version":
			ok = strings.HasPrefix(v, "1")
		case "Bad Block Log":
			list = v
			bad = strings.Contains(v, "bad blocks present")
		}
	}
	return list, bad, ok
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func atoi(s string) int {
	n, _ := strconv.Atoi(strings.Fields(s + " 0")[0])
	return n
}

// join writes "sda1, sdb1 and sdc1".
func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
