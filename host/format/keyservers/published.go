package keyservers

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/aptsources"
	"fettle/host/format/openpgp"
	"fettle/internal/lazy"
)

// MaxKeyring is the longest file of keys, unpacked, that is read.
const MaxKeyring = 16 << 20

// AptFile is a file of keys that apt uses.
type AptFile struct {
	Path string
	// SignedBy tells that a repository names the file; the others count for
	// every repository that names none.
	SignedBy bool
	// Inline is the key itself, where Path is a list of repositories that holds it.
	Inline string
}

// Read is the content of the file, as far as it is keys.
func (f AptFile) Read(ctx context.Context, h *host.Host) ([]byte, error) {
	if f.Inline != "" {
		return []byte(f.Inline), nil
	}
	return h.ReadFile(ctx, f.Path)
}

// AptFiles are the files in which apt keeps keys that it trusts: those that
// repositories name, in whatever folder, and those that count for all others,
// if there are any. missed is called with what could not be read.
func AptFiles(ctx context.Context, h *host.Host, missed func(error)) (files []AptFile) {
	sources, err := aptsources.Read(ctx, h)
	if err != nil {
		missed(err)
	}
	if err != nil || len(sources) == 0 || slices.ContainsFunc(sources, func(s aptsources.Source) bool { return !s.Signed }) {
		files = trusted(ctx, h, missed)
	}
	for _, s := range sources {
		for _, k := range s.Keys {
			if f := (AptFile{k, true, ""}); !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
		list, _, _ := strings.Cut(s.From, ":")
		if f := (AptFile{list, true, s.Inline}); s.Inline != "" && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}

// trusted are the keys that count for every repository that names none.
func trusted(ctx context.Context, h *host.Host, missed func(error)) []AptFile {
	files := []AptFile{{Path: "/etc/apt/trusted.gpg"}}
	const dir = "/etc/apt/trusted.gpg.d"
	list, err := h.ReadDir(ctx, dir)
	if err != nil {
		missed(err)
	}
	for _, e := range list {
		if ext := path.Ext(e.Name); (ext == ".gpg" || ext == ".asc") && !strings.HasPrefix(e.Name, ".") {
			files = append(files, AptFile{Path: path.Join(dir, e.Name)})
		}
	}
	return files
}

// Address is the mail address of a user ID; "" where it has none.
func Address(userID string) string {
	address := userID
	if i := strings.LastIndexByte(userID, '<'); i >= 0 {
		address, _, _ = strings.Cut(userID[i+1:], ">")
	}
	if !addressExpr().MatchString(address) {
		return ""
	}
	return address
}

// addressExpr leaves out what is rarer in addresses than in tricks: they go into
// URLs and onto command lines.
var addressExpr = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{0,180}$`)

// maxAddresses is how many owners of keys in one file may be asked for.
const maxAddresses = 64

// addresses are those of the user IDs in a file of keys.
func addresses(b []byte) (out []string) {
	if openpgp.FormOf(b[:min(len(b), 4096)]) == openpgp.Armored {
		b, _ = openpgp.Dearmor(bytes.NewReader(b), MaxKeyring)
	}
	for packets := openpgp.NewReader(bytes.NewReader(b), 0); len(out) < maxAddresses; {
		p, err := packets.Next()
		if err != nil {
			return out
		}
		if p.Tag == openpgp.TagUserID {
			if a := Address(string(p.Body)); a != "" && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Names reports whether a question goes to a keyserver that the host is
// configured to use, or to the domain of a key that apt trusts: nobody else is
// ever asked.
func Names(ctx context.Context, h *host.Host, t host.Table) bool {
	ignore := func(error) {}
	for _, f := range append(Configured(ctx, h, ignore), Scripts(ctx, h, ignore)...) {
		for _, m := range f.Mentions {
			if t == host.AddressTable(m.Host) || slices.ContainsFunc(m.Questions(), func(q string) bool { return t == host.PageTable(q) }) {
				return true
			}
		}
	}
	for _, file := range AptFiles(ctx, h, ignore) {
		b, err := file.Read(ctx, h)
		if err != nil {
			continue
		}
		for _, a := range addresses(b) {
			urls, _ := WebKeyURLs(a)
			names, _ := ServiceNames(a)
			if slices.ContainsFunc(urls, func(u string) bool { return t == host.PageTable(u) }) ||
				slices.ContainsFunc(names, func(n string) bool { return t == host.ServiceTable(n) }) {
				return true
			}
		}
	}
	return false
}
