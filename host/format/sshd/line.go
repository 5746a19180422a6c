package sshd

import "strings"

const white = " \t\r\n"

// delim takes the next word of s as strdelim does (misc.c): words end at
// white space, a quote, or one "=". ok is false at the end, or where a quote
// does not close.
func delim(s *string, more *bool) (word string, ok bool) {
	if !*more {
		return "", false
	}
	old := *s
	i := strings.IndexAny(old, white+`"=`)
	if i < 0 {
		*s, *more = "", false
		return old, true
	}
	if old[i] == '"' {
		rest := old[i+1:]
		j := strings.IndexByte(rest, '"')
		if j < 0 {
			*more = false
			return "", false
		}
		*s = strings.TrimLeft(rest[j+1:], white)
		return old[:i] + rest[:j], true
	}
	rest := strings.TrimLeft(old[i+1:], white)
	if old[i] != '=' && strings.HasPrefix(rest, "=") {
		rest = strings.TrimLeft(rest[1:], white)
	}
	*s = rest
	return old[:i], true
}

// Split splits arguments as argv_split does (misc.c, OpenSSH 8.7 on): quotes
// of both kinds, a backslash before a quote, a backslash or, outside quotes, a
// space; a comment ends the line. ok is false where a quote does not close.
func Split(s string) (args []string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || s[i] == '\t' {
			continue
		}
		if s[i] == '#' {
			break
		}
		var b strings.Builder
		quote := byte(0)
		for ; i < len(s); i++ {
			c := s[i]
			next := byte(0)
			if i+1 < len(s) {
				next = s[i+1]
			}
			switch {
			case c == '\\':
				if next == '\'' || next == '"' || next == '\\' || quote == 0 && next == ' ' {
					i++
					c = next
				}
				b.WriteByte(c)
				continue
			case quote == 0 && (c == ' ' || c == '\t'):
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
				continue
			case quote != 0 && c == quote:
				quote = 0
				continue
			default:
				b.WriteByte(c)
				continue
			}
			break // white space outside quotes ends the word
		}
		if quote != 0 {
			return nil, false
		}
		args = append(args, b.String())
	}
	return args, true
}

// Keyword splits a line into its keyword and the rest. An empty keyword: the
// line is empty or a comment.
func Keyword(line string) (word, rest string) {
	line = strings.TrimLeft(line, " \t\r")
	line = strings.TrimRight(line, white+"\f")
	more := true
	word, ok := delim(&line, &more)
	if ok && word == "" {
		word, ok = delim(&line, &more)
	}
	if !ok || word == "" || word[0] == '#' {
		return "", ""
	}
	return word, line
}
