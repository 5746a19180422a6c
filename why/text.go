package why

import (
	"regexp"
	"slices"
	"strings"

	"fettle/engine/message"
	"fettle/internal/lazy"
)

// Bounds of what may be somebody's own words: more is the output of programs.
const (
	proseLines = 120
	proseBytes = 16 << 10
)

// wording is what a short text is made of.
type wording struct {
	// lines are those that are read together as prose; none where nobody wrote them.
	lines []string
}

// read tells what somebody wrote from logs, configuration and the output of programs. In
// the latter nobody complains of anything: only messages count there.
func read(text string) wording {
	if len(text) > proseBytes || strings.Count(text, "\n") > proseLines || !isText([]byte(text)) || message.IsExport(text) {
		return wording{}
	}
	var rest []string
	sentences, shaped, printed, first, last, typed := 0, 0, 0, false, false, false
	for line := range strings.Lines(text) {
		l := message.ParseLine(line)
		if l.Raw == "" || l.Log {
			continue
		}
		said := nick().ReplaceAllString(l.Raw, "")
		rest = append(rest, said)
		typed = typed || prompt().MatchString(said)
		if typed { // who shows what was typed may comment on it
			said = strings.TrimLeft(said, "# ")
		}
		last = isSentence(said)
		switch {
		case last:
			sentences++
			first = first || len(rest) == 1
		case comment().MatchString(said) || isShaped(said):
			shaped++
		case output().MatchString(said):
			printed++
		}
	}
	switch n := len(rest); {
	case n == 0:
	case n <= 3 && shaped == 0 && printed < n: // what people type into a search engine has no grammar
		return wording{rest}
	case first, last, sentences*4 >= n:
		return wording{rest}
	}
	return wording{}
}

// glue are words that hold sentences together; programs and files have few.
var glue = set(`i my we our me it its is are was were has have had the a an and but or if when while after before since because so that this
there what which why how where who does do did doesn't don't didn't can can't cannot won't not no of to for from with without on in at by as into
only even still any all some every each than then too very more most just also`)

// isSentence reports whether a line is somebody's words: several, a good part of them those
// that hold a sentence together, and few signs between them.
func isSentence(line string) bool {
	if comment().MatchString(line) || isShaped(line) {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return strings.ContainsRune(" \t,.;:?!()\"", r) })
	if len(words) < 4 || named().MatchString(line) {
		return false
	}
	n := 0
	for _, w := range words {
		if glue[w] {
			n++
		}
	}
	return n >= 2 && n*6 >= len(words)
}

// shapes are those of files and of what is typed into a shell.
var shapes = []func() *regexp.Regexp{
	lazy.Regexp(`^\[[^\]]+\]$|^</?[a-zA-Z!?]|^[{}()\[\]]|[{;]$`), // a section, markup, code
	lazy.Regexp(`^[\w./*@-]+\s*(?:=|:=|\+=)\s*\S*(?:\s+\S+)?$`),  // a setting
	lazy.Regexp(`^\S*\d\S*\s+[\w@-]+\.\w+$|^\S+\s\S+\.\w+\s*$`),  // a table of two columns
	lazy.Regexp(`\S(?:\s{2,}|\t)\S.*\S(?:\s{2,}|\t)\S`),          // columns
	lazy.Regexp(`^(?:if|then|else|elif|fi|for|do|done|case|esac|while|exit|return|export|test|echo|set|\.)\b.*[\[\]$;"'=|]`),
	prompt,
}

var (
	comment = lazy.Regexp(`^(?:#|;|//|/\*|\*|--|%|!|")`)
	named   = lazy.Regexp(`^[A-Za-z_][\w ()/.-]{0,40}:(?:\s|$)\s*\S{0,40}(?:\s\S{1,16}){0,3}$`) // "Name: value"
	prompt  = lazy.Regexp(`^[\w.-]*[@:][\w~/.:-]*[#$] |^[$%] `)
	output  = lazy.Regexp(`^[a-z]+[a-z_-]*\d[\w.-]*: |\w=\S.*\w=\S|, dev \w+, | on dev \w+, `) // what kernels print
	nick    = lazy.Regexp(`^<[\w-]{1,24}> +`)                                                  // who speaks in a chat
)

// isShaped reports whether a line has the form of a file or of a program's output.
func isShaped(line string) bool {
	if slices.ContainsFunc(shapes, func(re func() *regexp.Regexp) bool { return re().MatchString(line) }) {
		return true
	}
	signs := 0
	for i := range len(line) {
		if strings.IndexByte(`[]{}()$=;|&<>/\"_*`, line[i]) >= 0 {
			signs++
		}
	}
	return signs*5 > len(line)
}
