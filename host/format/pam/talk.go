package pam

import (
	"strconv"
	"strings"
)

// token is what was typed, as far as it matters: "P" is the right password,
// "C" a valid code, "PC" both in one line, "X" something else, "" nothing.
type token string

func (t token) endsInCode() bool { return strings.HasSuffix(string(t), "C") }

// texts lists what somebody could type where there is one text for all.
func (g Give) texts(t Talk) []token {
	if t == Dialog {
		return []token{""}
	}
	var out []token
	if g.Password {
		out = append(out, "P")
	}
	if g.Code {
		out = append(out, "C")
	}
	if g.Password && g.Code {
		out = append(out, "PC")
	}
	if len(out) == 0 {
		out = append(out, "X")
	}
	return out
}

// ask is what comes back to a question for a password, a code, or both in one
// ("PC"). An empty answer: the question cannot be put.
func (w *walker) ask(what token, visible bool) token {
	if w.talk == OneText {
		if visible {
			return ""
		}
		return w.text
	}
	switch {
	case what == "P" && w.give.Password, what == "C" && w.give.Code, what == "PC" && w.give.Password && w.give.Code:
		return what
	}
	return "X"
}

func itoa(n int) string { return strconv.Itoa(n) }
