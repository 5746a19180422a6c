package bisect

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// carry makes the folder there like the worktree: what is tracked is sent where
// it has changed, and what is neither tracked nor ignored goes. What git ignores
// stays, as an incremental build needs it.
func (r *remote) carry(ctx context.Context) error {
	out, err := git(ctx, r.dir, "ls-files", "-z", "--recurse-submodules")
	if err != nil {
		return err
	}
	tracked := splitNUL(out)
	if r.sent == nil {
		if err := r.do(ctx, begins, nil, nil); err != nil {
			return err
		}
		r.sent = map[string]stamp{}
	}
	if err := r.dropStale(ctx, tracked); err != nil {
		return err
	}
	now := map[string]stamp{}
	var changed []string
	for _, name := range tracked {
		st, err := os.Lstat(filepath.Join(r.dir, name))
		if err != nil {
			continue // a submodule that is not there, or a sparse checkout
		}
		now[name] = stamp{st.Mode(), st.Size(), st.ModTime()}
		if r.sent[name] != now[name] && !st.IsDir() {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		read, write := io.Pipe()
		go func() { write.CloseWithError(pack(write, r.dir, changed)) }()
		err := r.do(ctx, takes, read, nil)
		read.Close()
		if err != nil {
			r.sent = nil // who knows what is there now
			return err
		}
	}
	r.sent = now
	return nil
}

// dropStale removes what is there and neither tracked nor ignored here.
func (r *remote) dropStale(ctx context.Context, tracked []string) error {
	var list bytes.Buffer
	if err := r.do(ctx, lists, nil, &limited{w: &list, left: listLimit}); err != nil {
		return err
	}
	// A login shell may have said something first.
	_, files, _ := strings.Cut(list.String(), listMark+"\n")
	other := map[string]bool{}
	for _, name := range splitNUL(files) {
		other[strings.TrimPrefix(name, "./")] = true
	}
	for _, name := range tracked {
		delete(other, name)
	}
	if len(other) == 0 {
		return nil
	}
	ignored, err := r.ignored(ctx, slices.Sorted(maps.Keys(other)))
	if err != nil {
		return err
	}
	for _, name := range ignored {
		delete(other, name)
	}
	if len(other) == 0 {
		return nil
	}
	for name := range other {
		delete(r.sent, name)
	}
	return r.do(ctx, drops, strings.NewReader(strings.Join(slices.Sorted(maps.Keys(other)), "\x00")+"\x00"), nil)
}

func splitNUL(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "\x00"), func(name string) bool { return name == "" })
}

// pack writes files as a tar archive, below tree/.
func pack(to io.Writer, dir string, names []string) error {
	w := tar.NewWriter(to)
	for _, name := range names {
		if err := packOne(w, dir, name); err != nil {
			return fmt.Errorf("packing %s: %w", name, err)
		}
	}
	return w.Close()
}

func packOne(w *tar.Writer, dir, name string) error {
	path := filepath.Join(dir, name)
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	link := ""
	if st.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	head, err := tar.FileInfoHeader(st, link)
	if err != nil {
		return err
	}
	head.Name, head.Uid, head.Gid, head.Uname, head.Gname = "tree/"+name, 0, 0, "", ""
	if err := w.WriteHeader(head); err != nil || !st.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(w, f, head.Size)
	return err
}

// packed is a tar archive of texts by their names.
func packed(texts map[string]string) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(texts[name]))}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, texts[name]); err != nil {
			return nil, err
		}
	}
	return &b, w.Close()
}
