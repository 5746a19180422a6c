// Package blockconf reads configurations made of statements and blocks, as nginx's and named's
// are, with the files that they include:
//
//	statement words… ;
//	block words… { … }
package blockconf

import (
	"context"
	"path"
	"strings"

	"fettle/host"
)

// Form is whose file it is.
type Form string

// The forms.
const (
	Nginx Form = "nginx" // # begins a comment; include takes patterns of the last part, relative to the first file's folder
	Named Form = "named" // so do // and /* */; include takes one file
)

// Statement is one statement, or the head of a block.
type Statement struct {
	Words  []string // without quotes
	Within []string // the first words of the blocks around it, the outermost first
	Block  string   // the innermost of these blocks' own words
	File   string
	Line   int // 1-based
}

// Text is the statement as one line.
func (s *Statement) Text() string { return strings.Join(s.Words, " ") }

const (
	maxDepth = 20
	maxFiles = 2000
)

// Read reads a file and what it includes. An absent file has no statements; what could not be
// read is the error, and the rest is there.
func Read(ctx context.Context, h *host.Host, form Form, name string) ([]Statement, error) {
	r := &reader{ctx: ctx, h: h, form: form, dir: path.Dir(name)}
	r.file(name, nil, "", 0)
	return r.out, r.err
}

type reader struct {
	ctx   context.Context
	h     *host.Host
	form  Form
	dir   string
	out   []Statement
	err   error
	files int
}

func (r *reader) file(name string, within []string, block string, depth int) {
	if r.files++; depth > maxDepth || r.files > maxFiles || r.ctx.Err() != nil {
		return
	}
	b, err := r.h.ReadFile(r.ctx, name)
	if err != nil {
		r.failed(err)
		return
	}
	for _, s := range Parse(r.form, name, string(b)) {
		if len(s.Within) == 0 {
			s.Block = block
		}
		s.Within = append(append([]string{}, within...), s.Within...)
		r.out = append(r.out, s)
		if s.Words[0] == "include" && len(s.Words) == 2 {
			for _, f := range r.included(s.Words[1]) {
				r.file(f, s.Within, s.Block, depth+1)
			}
		}
	}
}

func (r *reader) failed(err error) {
	if r.err == nil && !host.IsAbsent(err) {
		r.err = err
	}
}

// included are the files that include means.
func (r *reader) included(arg string) []string {
	if !path.IsAbs(arg) {
		arg = path.Join(r.dir, arg)
	}
	if r.form == Named || !strings.ContainsAny(arg, "*?[") {
		return []string{arg}
	}
	found, err := r.h.Glob(r.ctx, path.Dir(arg), path.Base(arg))
	r.failed(err)
	return found
}

// Parse reads the statements of one file. What is left open at its end counts as closed.
func Parse(form Form, file, text string) []Statement {
	p := &parser{form: form, text: text, line: 1}
	var out []Statement
	var within, blocks, words []string
	begun := 0
	end := func() {
		if len(words) > 0 {
			out = append(out, Statement{words, append([]string{}, within...), last(blocks), file, begun})
		}
		words = nil
	}
	for {
		w, quoted, ok := p.next()
		switch {
		case !ok:
			end()
			return out
		case quoted || !strings.Contains(";{}", w):
			if words == nil {
				begun = p.at
			}
			words = append(words, w)
		case w == "{":
			head := ""
			if len(words) > 0 {
				head = words[0]
			}
			text := strings.Join(words, " ")
			end()
			within, blocks = append(within, head), append(blocks, text)
		case w == "}":
			end()
			within, blocks = within[:max(0, len(within)-1)], blocks[:max(0, len(blocks)-1)]
		default:
			end()
		}
	}
}

func last(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

type parser struct {
	form Form
	text string
	line int // of the text that is left
	at   int // of the word that was read last
}

// next is the next word: ";", "{" and "}" are words by themselves where nothing quotes them.
func (p *parser) next() (w string, quoted, ok bool) {
	p.blank()
	p.at = p.line
	if p.text == "" {
		return "", false, false
	}
	if q := p.text[0]; q == '"' || q == '\'' && p.form == Nginx {
		return p.quoted(q), true, true
	}
	n := 0
	for alone := strings.ContainsRune(";{}", rune(p.text[0])); ; {
		if strings.HasPrefix(p.text[n:], "${") { // a variable of nginx
			n += max(0, strings.IndexByte(p.text[n:], '}'))
		}
		n++
		if alone || n == len(p.text) || strings.ContainsRune(" \t\r\n;{}\"", rune(p.text[n])) || p.comment(p.text[n:]) != "" {
			break
		}
	}
	w = p.text[:n]
	p.skip(n)
	return w, false, true
}

func (p *parser) quoted(q byte) string {
	var b strings.Builder
	i := 1
	for ; i < len(p.text) && p.text[i] != q; i++ {
		if p.text[i] == '\\' && i+1 < len(p.text) {
			i++
		}
		b.WriteByte(p.text[i])
	}
	p.skip(min(i+1, len(p.text)))
	return b.String()
}

// blank skips white space and comments.
func (p *parser) blank() {
	for {
		p.skip(len(p.text) - len(strings.TrimLeft(p.text, " \t\r\n\f\v\x00")))
		if p.text == "" {
			return
		}
		end := p.comment(p.text)
		if p.text[0] == '#' {
			end = "\n"
		}
		if end == "" {
			return
		}
		if i := strings.Index(p.text[1:], end); i >= 0 {
			p.skip(1 + i + len(end))
		} else {
			p.skip(len(p.text))
		}
	}
}

// comment is what ends the comment of named that s begins with; empty if it is none.
func (p *parser) comment(s string) string {
	switch {
	case p.form != Named:
		return ""
	case strings.HasPrefix(s, "//"):
		return "\n"
	case strings.HasPrefix(s, "/*"):
		return "*/"
	}
	return ""
}

func (p *parser) skip(n int) {
	p.line += strings.Count(p.text[:n], "\n")
	p.text = p.text[n:]
}
