package explain

import (
	"strings"

	"fettle/engine/trap"
	"fettle/internal/lazy"
)

// Sections of an article by what they answer, in the words that articles use.
var (
	whatHappens = []string{"What happens"}
	howBad      = []string{"How bad"}
	whatToDo    = []string{"What to do", "By hand", "How to mend it", "What fettle does"}
	whatItDoes  = []string{"What fettle does", "What to do", "By hand", "How to mend it"}
)

// enough is how much of a section says it in short, in characters.
const enough = 120

// ofRemedy begins the paragraph that says what a remedy does.
var ofRemedy = lazy.Regexp(`^(\*?Fix\b|The remed|It (writes|mends|refuses)|` + "`?" + `fettle (fix|totp))`)

// short is an article in short, as Markdown: what happens, how bad it is, what
// to do.
func short(art *trap.Article, fixable bool) string {
	sections := split(art.Body)
	act := whatToDo
	if fixable {
		act = whatItDoes
	}
	var b strings.Builder
	for i, names := range [][]string{whatHappens, howBad, act} {
		heading, text := choose(sections, names)
		if text == "" {
			continue
		}
		if heading == "What fettle does" {
			text = remedyOf(text)
		}
		if i > 0 {
			b.WriteString("# " + heading + "\n\n")
		}
		b.WriteString(beginning(text) + "\n\n")
	}
	return b.String()
}

// section is a part of an article under a heading of the first level.
type section struct{ heading, text string }

func split(body string) []section {
	var out []section
	fenced := false
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading, ok := strings.CutPrefix(line, "# "); ok && !fenced {
			out = append(out, section{heading: strings.TrimSpace(heading)})
			continue
		}
		if len(out) > 0 {
			out[len(out)-1].text += line
		}
	}
	return out
}

// choose is the first section that begins with one of the names, which are
// tried in order.
func choose(sections []section, names []string) (heading, text string) {
	for _, n := range names {
		for _, s := range sections {
			if strings.HasPrefix(s.heading, n) {
				return s.heading, strings.TrimSpace(s.text)
			}
		}
	}
	return "", ""
}

// remedyOf is text from the paragraph on that is about the remedy.
func remedyOf(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if ofRemedy().MatchString(p) {
			return strings.Join(paragraphs[i:], "\n\n")
		}
	}
	return text
}

// beginning is as many whole paragraphs as it takes to say enough.
func beginning(text string) string {
	var out []string
	size := 0
	for _, paragraph := range strings.Split(text, "\n\n") {
		if size >= enough && !strings.HasSuffix(out[len(out)-1], ":") {
			break
		}
		if strings.HasPrefix(paragraph, "|") && len(out) > 0 { // a table is for who reads on
			break
		}
		out = append(out, paragraph)
		size += len(paragraph)
	}
	return strings.Join(out, "\n\n")
}
