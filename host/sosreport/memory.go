package sosreport

import (
	"fmt"
	"strconv"
	"strings"
)

// memory writes what free(1) tells, in KiB, in the form of /proc/meminfo. The
// fields that free knows under another sum (buffers, caches) are left out.
func (s *Source) memory() ([]byte, error) {
	text, err := s.output("sos_commands/memory/free", "free")
	if err != nil {
		return nil, err
	}
	var head []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		prefix, ok := map[string]string{"Mem:": "Mem", "Swap:": "Swap"}[first(f)]
		if !ok {
			if first(f) == "total" {
				head = f
			}
			continue
		}
		for i, v := range f[1:] {
			if i >= len(head) {
				break
			}
			name, known := map[string]string{"total": "Total", "free": "Free", "available": "Available"}[head[i]]
			if _, err := strconv.ParseUint(v, 10, 64); known && err == nil {
				fmt.Fprintf(&b, "%s%s: %s kB\n", prefix, name, v)
			}
		}
	}
	if b.Len() == 0 {
		return nil, notCollected("read", "free")
	}
	return []byte(b.String()), nil
}

// modules writes what lsmod(8) tells in the form of /proc/modules: name, size,
// how often it is used, and by which others.
func (s *Source) modules() ([]byte, error) {
	text, err := s.output("sos_commands/kernel/lsmod", "lsmod")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "Module" {
			continue
		}
		by := "-"
		if len(f) > 3 {
			by = strings.TrimSuffix(f[3], ",") + ","
		}
		fmt.Fprintf(&b, "%s %s %s %s Live 0x0000000000000000\n", f[0], f[1], f[2], by)
	}
	if b.Len() == 0 {
		return nil, notCollected("read", "lsmod")
	}
	return []byte(b.String()), nil
}

func first(f []string) string {
	if len(f) == 0 {
		return ""
	}
	return f[0]
}
