package ui

import (
	"strings"
	"unicode/utf8"

	"fettle/internal/lazy"
)

// Markdown writes the part of Markdown that lore uses for a terminal:
// headings, paragraphs, lists, code blocks, tables, emphasis and links. The
// text below a heading is indented by two, as in a man page.
func Markdown(src string, width int, paint Painter) string {
	m := &markdown{width: width, paint: paint}
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		i += m.block(lines[i:])
	}
	m.flush()
	return strings.TrimLeft(m.b.String(), "\n")
}

type markdown struct {
	b     strings.Builder
	width int
	paint Painter
	para  []string // lines of the paragraph or list item that is open
	first string   // what its first line starts with
	rest  string
	list  bool // the last block was a list item
	mark  byte // of that item: its kind is what tells two lists apart
}

const mdIndent = "  "

var (
	listItem  = lazy.Regexp(`^( *)([-*+]|\d{1,3}[.)])\s+(.*)$`)
	tableRule = lazy.Regexp(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
)

// block takes one block, or one line of a paragraph, and returns how many
// lines that were.
func (m *markdown) block(lines []string) int {
	line := lines[0]
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		m.flush()
		return 1
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		return m.fence(lines, trimmed[:3])
	case strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
		m.flush()
		m.gap(false)
		m.b.WriteString(m.inline(strings.TrimSpace(strings.Trim(line, "#")), Bold) + "\n")
		return 1
	case strings.HasPrefix(trimmed, "|") && len(lines) > 1 && tableRule().MatchString(lines[1]):
		return m.table(lines)
	}
	if it := listItem().FindStringSubmatch(line); it != nil {
		m.flush()
		kind := it[2][len(it[2])-1]
		m.gap(kind == m.mark || it[1] != "")
		m.mark = kind
		lead := mdIndent + strings.Repeat(" ", len(it[1])) + it[2] + " "
		m.first, m.rest, m.list = lead, strings.Repeat(" ", len(lead)), true
		m.para = []string{it[3]}
		return 1
	}
	if strings.HasPrefix(line, "    ") && len(m.para) == 0 && !m.list {
		return m.code(lines, func(l string) bool { return strings.HasPrefix(l, "    ") || strings.TrimSpace(l) == "" }, 4)
	}
	if len(m.para) == 0 {
		if !m.list || !strings.HasPrefix(line, " ") {
			m.gap(false)
			m.first, m.rest, m.list = mdIndent, mdIndent, false
		} else { // a further paragraph of a list item
			m.b.WriteByte('\n')
			m.first = m.rest
		}
	}
	m.para = append(m.para, strings.TrimPrefix(trimmed, "> "))
	return 1
}

// gap puts a blank line between blocks, but none between items of a list.
func (m *markdown) gap(item bool) {
	if !(item && m.list) {
		m.b.WriteByte('\n')
	}
	if !item {
		m.list = false
	}
}

func (m *markdown) flush() {
	if len(m.para) > 0 {
		m.b.WriteString(m.wrap(strings.Join(m.para, " ")))
		m.para = nil
	}
}

// wrap breaks text before it is coloured, so that escape sequences take no
// room, and then colours each line.
func (m *markdown) wrap(s string) string {
	// Code and emphasis may hold spaces: keep each together where it is short.
	s = codeSpan().ReplaceAllStringFunc(m.unmarked(Visible(s)), func(c string) string {
		if utf8.RuneCountInString(c) < m.width/3 {
			return strings.ReplaceAll(c, " ", nbsp)
		}
		return c
	})
	out := strings.Split(strings.TrimSuffix(Wrap(s, m.width, m.first, m.rest), "\n"), "\n")
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], nbsp, " ")
		if m.paint { // else the backticks stay, to tell code apart
			out[i] = codeSpan().ReplaceAllStringFunc(out[i], func(c string) string { return m.paint.Paint(Cyan, strings.Trim(c, "`")) })
		}
	}
	return strings.Join(out, "\n") + "\n"
}

const nbsp = "\x00" // never in Visible text; joins words while wrapping

var (
	codeSpan = lazy.Regexp("`[^`]+`")
	strong   = lazy.Regexp(`\*\*([^*]+)\*\*`)
	emphasis = lazy.Regexp(`(^|[\s(])[*_]([^*_\s][^*_]*)[*_]([\s).,;:]|$)`)
	link     = lazy.Regexp(`\[([^\]]+)\]\(([^)\s]+)\)`)
	autolink = lazy.Regexp(`<(https?://[^>\s]+)>`)
)

func (m *markdown) inline(s string, st Style) string { return m.paint.Paint(st, m.plain(Visible(s))) }

// plain drops the marks of emphasis, and writes a link's target after it.
func (m *markdown) plain(s string) string {
	s = link().ReplaceAllString(s, "$1 ($2)")
	s = autolink().ReplaceAllString(s, "$1")
	s = strong().ReplaceAllString(s, "$1")
	return emphasis().ReplaceAllString(s, "$1$2$3")
}

// unmarked is plain for all of s but its code.
func (m *markdown) unmarked(s string) string {
	var b strings.Builder
	for {
		at := codeSpan().FindStringIndex(s)
		if at == nil {
			b.WriteString(m.plain(s))
			return b.String()
		}
		b.WriteString(m.plain(s[:at[0]]) + s[at[0]:at[1]])
		s = s[at[1]:]
	}
}

func (m *markdown) fence(lines []string, mark string) int {
	n := m.code(lines[1:], func(l string) bool { return !strings.HasPrefix(strings.TrimSpace(l), mark) }, 0)
	return min(n+2, len(lines)) // with both fences; a missing end ends the text
}

// code writes lines as they are, as long as they belong, and returns how many.
func (m *markdown) code(lines []string, belongs func(string) bool, cut int) int {
	m.flush()
	lead := mdIndent + mdIndent
	if m.list {
		lead = m.rest + mdIndent
	}
	n := 0
	var out []string
	for n < len(lines) && belongs(lines[n]) {
		l := lines[n]
		if len(l) >= cut {
			l = l[cut:]
		}
		out = append(out, strings.TrimRight(lead+m.paint.Paint(Cyan, Visible(strings.ReplaceAll(l, "\t", "        "))), " "))
		n++
	}
	m.b.WriteString("\n" + strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n")
	return n
}

// table writes a table, whose cells wrap inside their columns.
func (m *markdown) table(lines []string) int {
	m.flush()
	m.gap(false)
	var t Table
	n := 0
	for ; n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|"); n++ {
		var row []string
		for c := range strings.SplitSeq(strings.Trim(strings.TrimSpace(lines[n]), "|"), "|") {
			row = append(row, m.plain(Visible(strings.TrimSpace(c))))
		}
		switch n {
		case 0:
			t.Header = row
		case 1: // the rule
		default:
			t.Rows = append(t.Rows, row)
		}
	}
	m.b.WriteString(t.Text(m.width, mdIndent, m.paint))
	return n
}
