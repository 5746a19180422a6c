package web

import (
	"net/http"
	"strconv"
)

// pages says which part of a list a page shows, and leads to the others.
type pages struct {
	First, Last int // 0: unknown
	Count       int
	Most        bool   // there are more than Count
	Prev, Next  string // addresses; empty: there is none
}

// pagesOf are those of a list that is asked for by offset and limit; size is the limit
// where none is given.
func pagesOf(r *http.Request, offset, size, shown, count int) pages {
	p := pages{First: offset + 1, Last: offset + shown, Count: count}
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && n > 0 {
		size = n
	}
	if offset > 0 {
		p.Prev = at(r, "offset", positive(max(0, min(offset, count)-size)))
	}
	if shown > 0 && p.Last < count {
		p.Next = at(r, "offset", positive(p.Last))
	}
	return p
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// at is this page's address with a parameter of its list set, or without one.
func at(r *http.Request, name, value string) string {
	v := r.URL.Query()
	for _, other := range []string{"offset", "before", "after"} {
		v.Del(other)
	}
	if value != "" {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + v.Encode()
}

// along are the pages of a list that is asked for by what is before or after a line.
func along(r *http.Request, prev, next string, count, most int) pages {
	p := pages{Count: count, Most: count >= most}
	if prev != "" {
		p.Prev = at(r, "after", prev)
	}
	if next != "" {
		p.Next = at(r, "before", next)
	}
	return p
}
