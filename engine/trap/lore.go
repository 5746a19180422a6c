package trap

import (
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"fettle/engine/message"
)

// Lore is the written knowledge of a trap: Markdown with YAML front matter,
// embedded from lore.md. It is parsed only when somebody reads it; a check run
// needs just the id and title, which are scanned for.
//
//	---
//	id: bridge-mtu
//	title: A bridge's MTU is changed by the ports it is given
//	symptoms:
//	  - large packets vanish after a VM was started
//	since: Linux 2.6 …
//	refs:
//	  - https://…
//	---
//	# What happens
type Lore string

// Article is parsed lore.
type Article struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Symptoms are what an admin sees or pastes: sentences and log lines.
	// <…> stands for a part that differs from case to case.
	Symptoms []string `yaml:"symptoms"`
	// Messages are what programs print, as typed templates: fettle why finds them in
	// logs, and the trap's check may.
	Messages []message.Message `yaml:"messages"`
	// Questions are those that the article answers, for who has no trouble: the question, and
	// behind its "?" groups of words, each of which a text that asks it has one of ("a|b c|d").
	Questions []string `yaml:"questions"`
	// Tags are further words that somebody might search by.
	Tags []string `yaml:"tags"`
	// Horizon says when the trap bites (see Horizon), and Covers which areas of the next start
	// its check looks at (see Area).
	Horizon []string `yaml:"horizon"`
	Covers  []string `yaml:"covers"`
	// Since says from which version to which the trap holds.
	Since string   `yaml:"since"`
	Refs  []string `yaml:"refs"`
	Body  string   `yaml:"-"` // Markdown
}

// Seen is what people see: the symptoms, and the messages that speak for the trap.
func (a *Article) Seen() []string {
	out := slices.Clone(a.Symptoms)
	for _, m := range a.Messages {
		if !m.Harmless && !slices.Contains(out, m.Text) {
			out = append(out, m.Text)
		}
	}
	return out
}

// field scans the front matter for one "name: value" line at its top level.
func (l Lore) field(name string) string {
	rest, ok := strings.CutPrefix(string(l), "---\n")
	if !ok {
		return ""
	}
	for line := range strings.Lines(rest) { // what is asked for often comes first
		if line == "---\n" {
			break
		}
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

func (l Lore) split() (front, body string) {
	rest, ok := strings.CutPrefix(string(l), "---\n")
	if !ok {
		return "", string(l)
	}
	const end = "\n---\n"
	i := strings.Index(rest, end)
	if i < 0 {
		return rest, ""
	}
	return rest[:i+1], strings.TrimLeft(rest[i+len(end):], "\n")
}

var articles sync.Map // Lore → *Article

// Article parses the lore, strictly: a front matter field of an unknown name
// is an error with its line.
func (l Lore) Article() (*Article, error) {
	if a, ok := articles.Load(l); ok {
		return a.(*Article), nil
	}
	front, body := l.split()
	a := &Article{Body: body}
	if a.quick(front) {
		articles.Store(l, a)
		return a, nil
	}
	a = &Article{Body: body}
	if err := yaml.UnmarshalWithOptions([]byte(front), a, yaml.Strict()); err != nil {
		return nil, err
	}
	articles.Store(l, a)
	return a, nil
}

// Messages are those of the lore; that they can be read, a test tells.
func (l Lore) Messages() []message.Message {
	a, err := l.Article()
	if err != nil {
		return nil
	}
	return a.Messages
}
