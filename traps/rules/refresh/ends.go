package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ends are the ends of support that distro-info-data knows.
type ends struct {
	*apt
	of map[string]string // "debian 12" → "2028-06-30"; nil: not read yet
}

// distroInfo is how rows name it.
const distroInfo = "distro-info-data"

var row = regexp.MustCompile(`(?m)^( *- \{key: )([^,]+)(, value: ")([^"]+)(", source: ` + distroInfo + `, confirmed: )([0-9-]+)(\}\n)`)

// confirm puts right the rows whose source is distro-info-data, and adds the releases that
// it has besides and that are supported.
func (e *ends) confirm(text string, now time.Time) string {
	rows := row.FindAllStringSubmatch(text, -1)
	if len(rows) == 0 {
		return text
	}
	if e.of == nil {
		var err error
		if e.of, err = e.read(); err != nil {
			e.of = map[string]string{}
			missing(distroInfo, err)
		}
	}
	if len(e.of) == 0 {
		return text
	}
	today, have, confirmed := now.Format(time.DateOnly), map[string]bool{}, 0
	text = row.ReplaceAllStringFunc(text, func(line string) string {
		m := row.FindStringSubmatch(line)
		have[m[2]] = true
		end, ok := e.of[m[2]]
		if !ok {
			fmt.Fprintf(out, "%s does not have %s any more\n", distroInfo, m[2])
			return line
		}
		if end != m[4] {
			fmt.Fprintf(out, "%s ends on %s, not %s\n", m[2], end, m[4])
		}
		confirmed++
		return m[1] + m[2] + m[3] + end + m[5] + today + m[7]
	})
	for name, end := range e.of {
		if !have[name] && end > today {
			fmt.Fprintf(out, "%s is new; it ends on %s\n", name, end)
			all := row.FindAllStringIndex(text, -1)
			last := all[len(all)-1]
			m := row.FindStringSubmatch(text[last[0]:last[1]])
			text = text[:last[1]] + m[1] + name + m[3] + end + m[5] + today + m[7] + text[last[1]:]
		}
	}
	fmt.Fprintf(out, "confirmed by %s: %d rows\n", distroInfo, confirmed)
	return text
}

// read fetches the package and reads its tables.
func (e *ends) read() (map[string]string, error) {
	dir, err := e.unpacked(distroInfo, "")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, distribution := range []string{"debian", "ubuntu"} {
		f, err := os.Open(filepath.Join(dir, "usr/share/distro-info", distribution+".csv"))
		if err != nil {
			return nil, err
		}
		r := csv.NewReader(f)
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		f.Close()
		if err != nil {
			return nil, err
		}
		if err := read(distribution, rows, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read takes the last day of free support of each release: LTS for Debian, standard for Ubuntu.
func read(distribution string, rows [][]string, into map[string]string) error {
	at := map[string]int{}
	for i, column := range rows[0] {
		at[column] = i
	}
	field := func(r []string, column string) string {
		if i, ok := at[column]; ok && i < len(r) {
			return r[i]
		}
		return ""
	}
	if at["eol"] == 0 {
		return fmt.Errorf("%s.csv has no column eol", distribution)
	}
	for _, r := range rows[1:] {
		version, end := strings.TrimSuffix(field(r, "version"), " LTS"), field(r, "eol")
		if lts := field(r, "eol-lts"); lts != "" {
			end = lts
		}
		if version != "" && end != "" {
			into[distribution+" "+version] = end
		}
	}
	return nil
}
