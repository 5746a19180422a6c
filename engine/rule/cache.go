package rule

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fettle/internal/files"
)

// CacheFile is where root's runs keep the rules that they parsed.
const CacheFile = "/var/cache/fettle/rules.book"

// cacheLimit bounds the file, in bytes.
const cacheLimit = 64 << 20

// Cache is what rules in files came to, kept by the file's stamp. It belongs to
// root: nobody else can have written it, nor add to it.
type Cache struct {
	name   string
	binary string // the stamp of this program; another one may see other mistakes
	had    map[string]cached
	mu     sync.Mutex
	found  []cached
	news   bool
}

type cached struct {
	File, Stamp string
	Note        string // what whoever keeps the file's rules wants to know again
	Rules       []*Frozen
}

type cacheForm struct {
	Binary string
	Rules  []cached
}

// OpenCache reads a cache. One that is not there, that somebody else could have
// written or that another fettle wrote is empty.
func OpenCache(name string) *Cache {
	c := &Cache{name: name, had: map[string]cached{}}
	exe, err := os.Executable()
	if err != nil {
		return c
	}
	c.binary = Stamp(exe)
	text, err := readCache(name)
	if err != nil {
		return c
	}
	var form cacheForm
	if unflatten(text, &form) != nil || form.Binary != c.binary {
		return c
	}
	for _, e := range form.Rules {
		if !slices.Contains(e.Rules, nil) {
			c.had[e.File] = e
		}
	}
	return c
}

func readCache(name string) (string, error) {
	if _, err := os.Lstat(name); err != nil { // most hosts: no folder has to be looked at
		return "", err
	}
	real, err := trust(name)
	if err != nil {
		return "", err
	}
	f, err := openPlain(real)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > cacheLimit || owner(st) != 0 {
		return "", fmt.Errorf("%s: not a cache of root's", name)
	}
	if err := trusted(real, st); err != nil {
		return "", err
	}
	var b strings.Builder // a copy of hundreds of kilobytes costs more than reading them
	b.Grow(int(st.Size()))
	_, err = io.CopyN(&b, f, st.Size())
	return b.String(), err
}

// Find is what the rules of a file that is as it was came to, and the note kept with them.
func (c *Cache) Find(file, stamp string) (rules []*Frozen, note string, ok bool) {
	if c == nil || stamp == "" || c.had[file].Stamp != stamp {
		return nil, "", false
	}
	e := c.had[file]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, e)
	return e.Rules, e.Note, true
}

// Add keeps the rules that a file came to when it bore that stamp.
func (c *Cache) Add(file, stamp, note string, rules []*Frozen) {
	if c == nil || stamp == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found, c.news = append(c.found, cached{file, stamp, note, rules}), true
}

// Save writes what was found where this is root and there is news. A cache that
// cannot be written costs the next run what this one paid.
func (c *Cache) Save() {
	if c == nil || !c.news || c.binary == "" || os.Geteuid() != 0 {
		return
	}
	n := 0
	for _, e := range c.found {
		n += len(e.Rules)
	}
	if n < cacheWorth {
		return
	}
	_ = os.MkdirAll(filepath.Dir(c.name), 0o755)
	if _, err := trust(filepath.Dir(c.name)); err != nil {
		return
	}
	_ = files.WriteFile(c.name, flatten(&cacheForm{c.binary, c.found}), 0o644)
}

// cacheWorth is from how many rules on a cache is written: a few cost less than
// the surprise of another file.
const cacheWorth = 4
