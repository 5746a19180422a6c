package rule

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fettle/host"
)

// inFiles are the paths of a fact's option in, wildcards resolved, or others
// where it is not given.
func (r *reading) inFiles(f *Fact, otherwise ...string) ([]string, error) {
	var out []string
	in := f.Opts["in"]
	if len(in) == 0 {
		in = otherwise
	}
	for _, p := range in {
		if !strings.ContainsAny(p, "*?[") {
			out = append(out, p)
			continue
		}
		more, err := r.glob(p)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// matchLimit bounds what a regex fact lists.
const matchLimit = 1000

func readRegex(r *reading, f *Fact) (*regexFact, error) {
	re, err := compiled(f.arg())
	if err != nil {
		return nil, err
	}
	files, err := r.inFiles(f)
	if err != nil {
		return nil, err
	}
	ignore, err := compiled(f.opt("ignore", `[^\s\S]`))
	if err != nil {
		return nil, err
	}
	var found []*matchFact
	exists := false
	count := 0
	scripts := f.on("scripts", false)
	for _, name := range files {
		if scripts && r.beyondText(name) {
			continue // a program, without reading it
		}
		b, err := r.content(name)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRegular) && len(f.Opts["in"]) > 0 && len(files) > 1 {
			continue
		}
		if scripts && (errors.Is(err, host.ErrTooBig) || bytes.IndexByte(b, 0) >= 0) {
			continue // a program
		}
		if err != nil {
			return nil, err
		}
		exists = true
		err = eachMatch(r.ctx, re, b, func(n int, line string) {
			if ignore.MatchString(line) {
				return
			}
			if count++; count <= matchLimit {
				found = append(
					found,
					&matchFact{seen: seen{fmt.Sprintf("%s:%d", name, n), excerpt(re, line)}, Path: name, Line: n, Text: line, Groups: groups(re, line)},
				)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	source := strings.Join(f.Opts["in"], ", ")
	o := &regexFact{seen: seen{source, "no line matches " + f.arg()}, Exists: exists, Found: count > 0, Matches: found, Count: count,
		First: noValue[*matchFact]("no line of %s matches %s", source, f.arg())}
	switch {
	case count > 0:
		o.First = value(found[0])
		o.seen = found[0].seen
	case !exists:
		o.brief = "absent"
	}
	return o, nil
}

// excerptMax is how many bytes of a line stand as evidence: the flags line of
// /proc/cpuinfo has over a thousand.
const excerptMax = 160

// excerpt is what evidence shows of a line that re matches: the line with each
// run of blanks as one, and of a long line the match, or its two ends.
func excerpt(re *regexp.Regexp, line string) string {
	line = strings.Join(strings.Fields(line), " ")
	if len(line) <= excerptMax {
		return line
	}
	from, to := 0, len(line)
	if at := re.FindStringIndex(line); at != nil {
		from, to = at[0], at[1]
	}
	const half = excerptMax / 2
	cut := func(a, b int) string { return strings.ToValidUTF8(line[a:b], "") }
	out := ""
	if to-from <= excerptMax {
		from = max(0, from-(excerptMax-(to-from))/2)
		to = min(len(line), from+excerptMax)
		out = cut(from, to)
	} else {
		out = cut(from, from+half) + " … " + cut(to-half, to)
	}
	if from > 0 {
		out = "… " + out
	}
	if to < len(line) {
		out += " …"
	}
	return out
}

func readTable(r *reading, f *Fact) (*tableFact, error) {
	name := f.arg()
	b, err := r.content(name)
	if host.IsAbsent(err) {
		return &tableFact{seen: seen{name, "absent"}}, nil
	}
	if err != nil {
		return nil, err
	}
	split := strings.Fields
	if sep := f.opt("separator", ""); sep != "" {
		re, err := compiled(sep)
		if err != nil {
			return nil, err
		}
		split = func(s string) []string { return re.Split(strings.TrimSpace(s), -1) }
	}
	ls := lines(string(b))
	skip, _ := positive(f.opt("skip", "0"))
	ls = ls[min(skip, len(ls)):]
	columns := f.Opts["columns"]
	if f.on("header", false) && len(ls) > 0 {
		columns, ls = split(ls[0]), ls[1:]
	}
	rows := make([]map[string]string, 0, len(ls))
	for _, l := range ls {
		if strings.TrimSpace(l) == "" {
			continue
		}
		row := map[string]string{}
		for i, v := range split(l) {
			col := strconv.Itoa(i)
			if i < len(columns) {
				col = columns[i]
			}
			row[col] = v
		}
		rows = append(rows, row)
	}
	return &tableFact{seen: seen{name, fmt.Sprintf("%d rows", len(rows))}, Exists: true, Rows: rows}, nil
}
