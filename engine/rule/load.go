package rule

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// Dirs are the folders in which rules are looked for: the host's, and the
// user's own. The latter is left out when it is not this user's.
func Dirs() []string {
	dirs := []string{"/etc/fettle/traps.d"}
	conf := configDir()
	if !filepath.IsAbs(conf) {
		return dirs
	}
	own := filepath.Join(conf, "fettle", "traps.d")
	if st, err := os.Stat(own); err == nil && owner(st) == os.Geteuid() {
		dirs = append(dirs, own)
	}
	return dirs
}

// configDir is where this user keeps settings. Root under sudo has root's own,
// whatever the environment says: with sudo -E it is still that of who called
// it, and that home is not even looked at.
func configDir() string {
	if caller := os.Getenv("SUDO_UID"); os.Geteuid() == 0 && caller != "" && caller != "0" {
		root, err := user.LookupId("0")
		if err != nil {
			return ""
		}
		return filepath.Join(root.HomeDir, ".config")
	}
	if conf := os.Getenv("XDG_CONFIG_HOME"); conf != "" || os.Getenv("HOME") == "" {
		return conf
	}
	return filepath.Join(os.Getenv("HOME"), ".config")
}

// Refused is a file or folder that was not loaded, and why.
type Refused struct {
	Path string
	Err  error
}

func (r Refused) Error() string { return r.Err.Error() }

// loadLimit is how many rules one folder holds at most.
const loadLimit = 500

// Load reads the rules in folders: their *.yaml, and rule.yaml in the folders
// in them. A folder that is not there has none. Rules that belong to others
// than root or this user, that others may write to, or that have mistakes are
// refused; taken are the traps whose ids no rule may have. Of two rules with one
// id, the first counts. What the cache has of a file is not parsed again.
func Load(dirs []string, taken map[string]bool, c *Cache) ([]*Frozen, []Refused) {
	var refused []Refused
	var files []string
	for _, dir := range dirs {
		fs, err := list(dir)
		if err != nil {
			refused = append(refused, Refused{dir, err})
			continue
		}
		files = append(files, fs...)
	}
	type read struct {
		r   *Frozen
		err error
	}
	all := make([]read, len(files))
	var wg sync.WaitGroup
	slots := make(chan bool, 4)
	for i, f := range files {
		stamp := Stamp(f)
		if kept, _, ok := c.Find(f, stamp); ok && len(kept) == 1 {
			all[i].r = kept[0]
			continue
		}
		wg.Go(func() {
			slots <- true
			defer func() { <-slots }()
			r, err := ReadFile(f)
			if err == nil {
				all[i].r = r.Freeze()
				if stamp == Stamp(f) { // else it was written to meanwhile
					c.Add(f, stamp, "", []*Frozen{all[i].r})
				}
			}
			all[i].err = err
		})
	}
	wg.Wait()
	at := map[string]string{}
	var rules []*Frozen
	for i, a := range all {
		err := a.err
		if err == nil {
			switch other, twice := at[a.r.ID]; {
			case taken[a.r.ID]:
				err = fmt.Errorf("%s: %s is one of fettle's own traps; give the rule another id", files[i], a.r.ID)
			case twice:
				err = fmt.Errorf("%s: %s is there already, from %s", files[i], a.r.ID, other)
			}
		}
		if err != nil {
			refused = append(refused, Refused{files[i], err})
			continue
		}
		at[a.r.ID] = files[i]
		rules = append(rules, a.r)
	}
	return rules, refused
}

func list(dir string) ([]string, error) {
	f, err := openFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	defer f.Close()
	es, err := f.ReadDir(loadLimit + 1)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("rules in %s: %w", dir, err)
	}
	if len(es) > loadLimit {
		return nil, fmt.Errorf("rules in %s: more than %d", dir, loadLimit)
	}
	var out []string
	for _, e := range es {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.Name()[0] == '.', e.Name() == "pack.yaml": // the folder of a pack: it speaks of the pack
		case strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml"):
			out = append(out, name)
		default:
			if inner := filepath.Join(name, "rule.yaml"); isThere(inner) {
				out = append(out, inner)
			}
		}
	}
	sort.Strings(out)
	return out, nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// ReadFile loads one rule from a file that can be trusted: see Trust.
func ReadFile(name string) (*Rule, error) {
	b, err := ReadTrusted(name, FileLimit)
	if err != nil {
		return nil, err
	}
	r, ms := Parse(name, b, false)
	if err := ms.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadTrusted reads a file of at most limit bytes that nobody but root and this user can have
// written. Its folders are looked at first: after that nobody else can exchange it.
func ReadTrusted(name string, limit int64) ([]byte, error) {
	real, err := trust(name)
	if err != nil {
		return nil, err
	}
	if st, err := os.Lstat(real); err == nil && !st.Mode().IsRegular() { // opening a device may act on it
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := openPlain(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if err := trusted(real, st); err != nil {
		return nil, err
	}
	return readLimited(f, name, limit)
}

func readLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: %w", name, errTooLarge)
	}
	return b, err
}

// Read reads a rule's file to look for mistakes in it, whoever wrote it.
func Read(name string) ([]byte, error) {
	f, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return readLimited(f, name, FileLimit)
}

// trust follows a path to its end and looks at each folder and link on the way:
// all must belong to root or this user, and no folder may be writable to
// others, except one with the sticky bit, where nobody can exchange what
// belongs to somebody else. It returns the path without symlinks.
func trust(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	todo := strings.Split(abs, string(filepath.Separator))
	at, links := string(filepath.Separator), 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		st, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if err := trusted(next, st); err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > 40 {
			return "", fmt.Errorf("%s: too many symlinks", name)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			at = string(filepath.Separator)
		}
		todo = append(strings.Split(to, string(filepath.Separator)), todo...)
	}
	return at, nil
}

func trusted(name string, st fs.FileInfo) error {
	me := os.Geteuid()
	if uid := owner(st); uid != 0 && uid != me {
		who := "root"
		if me != 0 {
			who = "root or you"
		}
		return fmt.Errorf("%s is ignored: it belongs to user %d, and must belong to %s", name, uid, who)
	}
	link := st.Mode()&fs.ModeSymlink != 0 // its mode says nothing
	shared := st.IsDir() && st.Mode()&fs.ModeSticky != 0
	if st.Mode().Perm()&0o022 != 0 && !link && !shared {
		return fmt.Errorf("%s is ignored: others may write to it (chmod go-w %s)", name, name)
	}
	return nil
}
