package host

import (
	"context"
	"encoding/json"
	"strings"
)

// tableGet begins the name of the table that holds a Page.
const tableGet = "get "

// PageTable is the question for a URL as a Source is asked it.
func PageTable(url string) Table { return Table(tableGet + url) }

// Page is the reverse of PageTable.
func (t Table) Page() (url string, ok bool) {
	url, ok = strings.CutPrefix(string(t), tableGet)
	return url, ok && len(url) <= 1000
}

// Page is what an HTTP server answered to GET.
type Page struct {
	URL    string `json:"url"`    // that answered in the end
	Status int    `json:"status"` // 200, 404, …
	Body   []byte `json:"body,omitempty"`
}

// Page asks an HTTP server for a file of at most ReadLimit bytes. Checks call
// it only where trap.MayTalk says so. Not collected: a capture that was made
// without it.
func (h *Host) Page(ctx context.Context, url string) (Page, error) {
	b, err := remember(ctx, &h.cache, "table:"+string(PageTable(url)), func() ([]byte, error) {
		b, err := h.src.Table(ctx, PageTable(url))
		return b, wrap("fetching", url, err)
	})
	var p Page
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}
