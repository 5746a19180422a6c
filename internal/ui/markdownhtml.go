package ui

import (
	"html"
	"strconv"
	"strings"
)

// MarkdownHTML writes the part of Markdown that Markdown knows as HTML. Nothing
// of src is taken for markup of HTML's own, and links become text and address,
// not links: lore comes from admins, too. level is that of a heading "#": 3 for h3.
func MarkdownHTML(src string, level int) string {
	p := &htmlMarkdown{level: level}
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		i += p.block(lines[i:])
	}
	p.flush()
	p.close()
	return p.b.String()
}

// htmlMarkdown is HTML being written.
type htmlMarkdown struct {
	b     strings.Builder
	level int
	para  []string
	list  string // the list that is open: "ul", "ol", ""
	item  bool   // para belongs to an item of it
}

// block takes one block, or one line of a paragraph, and returns how many
// lines that were.
func (p *htmlMarkdown) block(lines []string) int {
	line := lines[0]
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		p.flush()
		return 1
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		n := p.code(lines[1:], 0, func(l string) bool { return !strings.HasPrefix(strings.TrimSpace(l), trimmed[:3]) })
		return min(n+2, len(lines))
	case strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
		p.flush()
		p.close()
		tag := "h" + strconv.Itoa(min(p.level+strings.IndexByte(line, ' ')-1, 6))
		p.b.WriteString("<" + tag + ">" + inlineHTML(strings.TrimSpace(strings.Trim(line, "#"))) + "</" + tag + ">\n")
		return 1
	case strings.HasPrefix(trimmed, "|") && len(lines) > 1 && tableRule().MatchString(lines[1]):
		return p.table(lines)
	}
	if it := listItem().FindStringSubmatch(line); it != nil {
		p.flush()
		kind := "ul"
		if it[2][0] >= '0' && it[2][0] <= '9' {
			kind = "ol"
		}
		if p.list != kind {
			p.close()
			p.list = kind
			p.b.WriteString("<" + kind + ">\n")
		}
		p.para, p.item = []string{it[3]}, true
		return 1
	}
	if strings.HasPrefix(line, "    ") && len(p.para) == 0 {
		return p.code(lines, 4, func(l string) bool { return strings.HasPrefix(l, "    ") || strings.TrimSpace(l) == "" })
	}
	if len(p.para) == 0 && p.list != "" && !strings.HasPrefix(line, " ") {
		p.close()
	}
	p.para = append(p.para, strings.TrimPrefix(trimmed, "> "))
	return 1
}

// flush writes the paragraph or item that is open.
func (p *htmlMarkdown) flush() {
	if len(p.para) == 0 {
		return
	}
	tag := "p"
	if p.item {
		tag = "li"
	}
	p.b.WriteString("<" + tag + ">" + inlineHTML(strings.Join(p.para, " ")) + "</" + tag + ">\n")
	p.para, p.item = nil, false
}

// close ends the list that is open.
func (p *htmlMarkdown) close() {
	if p.list != "" {
		p.b.WriteString("</" + p.list + ">\n")
		p.list = ""
	}
}

func (p *htmlMarkdown) code(lines []string, cut int, belongs func(string) bool) int {
	p.flush()
	var out []string
	n := 0
	for ; n < len(lines) && belongs(lines[n]); n++ {
		out = append(out, Visible(strings.ReplaceAll(lines[n][min(cut, len(lines[n])):], "\t", "        ")))
	}
	p.b.WriteString("<pre>" + html.EscapeString(strings.TrimRight(strings.Join(out, "\n"), "\n")) + "</pre>\n")
	return n
}

func (p *htmlMarkdown) table(lines []string) int {
	p.flush()
	p.close()
	p.b.WriteString("<table>\n")
	n := 0
	for ; n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|"); n++ {
		if n == 1 {
			continue // the rule
		}
		tag := "td"
		if n == 0 {
			tag = "th"
		}
		p.b.WriteString("<tr>")
		for c := range strings.SplitSeq(strings.Trim(strings.TrimSpace(lines[n]), "|"), "|") {
			p.b.WriteString("<" + tag + ">" + inlineHTML(strings.TrimSpace(c)) + "</" + tag + ">")
		}
		p.b.WriteString("</tr>\n")
	}
	p.b.WriteString("</table>\n")
	return n
}

// inlineHTML escapes text, and marks code, strong and emphasised words.
func inlineHTML(s string) string {
	s = Visible(s)
	var b strings.Builder
	for {
		at := codeSpan().FindStringIndex(s)
		if at == nil {
			b.WriteString(wordsHTML(s))
			return b.String()
		}
		b.WriteString(wordsHTML(s[:at[0]]) + "<code>" + html.EscapeString(strings.Trim(s[at[0]:at[1]], "`")) + "</code>")
		s = s[at[1]:]
	}
}

func wordsHTML(s string) string {
	s = link().ReplaceAllString(s, "$1 ($2)")
	s = autolink().ReplaceAllString(s, "$1")
	s = html.EscapeString(s)
	s = strong().ReplaceAllString(s, "<strong>$1</strong>")
	return emphasis().ReplaceAllString(s, "$1<em>$2</em>$3")
}
