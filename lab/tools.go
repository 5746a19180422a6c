package lab

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// toolDirs are searched for programs, in order.
var toolDirs = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/lib/systemd", "/lib/systemd", "/usr/lib/openssh"}

// FindTool finds a program of the host by name.
func FindTool(name string) (string, error) {
	for _, d := range toolDirs {
		p := filepath.Join(d, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("the program %s is not installed", name)
}

// tool adds a program with the loader and all shared libraries it is linked to.
func (im *image) tool(name string) error {
	p, err := FindTool(name)
	if err != nil {
		return err
	}
	if err := im.copy(p); err != nil {
		return err
	}
	return im.libraries(p)
}

// libDirs are where Debian and the RHEL family keep shared libraries.
var libDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/lib/systemd", "/usr/lib/x86_64-linux-gnu/systemd",
	"/usr/lib/x86_64-linux-gnu/fakechroot"}

// libraries adds what an ELF file needs, found as ld.so(8) would in its
// default folders.
func (im *image) libraries(name string) error {
	f, err := elf.Open(name)
	if err != nil {
		return im.interpreter(name) // a script
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return nil
	}
	// Where the file itself says that its libraries are (ld.so(8), DT_RUNPATH).
	own, err := f.DynString(elf.DT_RUNPATH)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var dirs []string
	for _, path := range own {
		for _, d := range filepath.SplitList(path) {
			dirs = append(dirs, strings.NewReplacer("$ORIGIN", filepath.Dir(name), "${ORIGIN}", filepath.Dir(name)).Replace(d))
		}
	}
	return im.linked(f, name, func(lib string) error { return im.library(lib, dirs...) })
}

// linked adds the interpreter of an ELF file, and by add each library that the
// file is linked to.
func (im *image) linked(f *elf.File, name string, add func(lib string) error) error {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		ld := make([]byte, p.Filesz)
		if _, err := p.ReadAt(ld, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := im.placeAt(strings.TrimRight(string(ld), "\x00")); err != nil {
			return err
		}
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("reading what %s is linked to: %w", name, err)
	}
	for _, lib := range needed {
		if err := add(lib); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// interpreter adds the program that a script's first line names.
func (im *image) interpreter(script string) error {
	b, err := os.ReadFile(script)
	if err != nil || !strings.HasPrefix(string(b), "#!") {
		return err
	}
	line, _, _ := strings.Cut(string(b[2:]), "\n")
	if f := strings.Fields(line); len(f) > 0 {
		return im.tool(filepath.Base(f[0]))
	}
	return nil
}

// library adds a shared library, looked for in the first folders, then in the
// default ones.
func (im *image) library(lib string, first ...string) error {
	p, err := findLibrary(lib, first...)
	if err != nil || im.have[inside(p)] {
		return err
	}
	if err := im.placeAt(p); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return err
	}
	return im.libraries(real)
}

func findLibrary(lib string, first ...string) (string, error) {
	for _, d := range slices.Concat(first, libDirs) {
		p := filepath.Join(d, lib)
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("the shared library %s was not found", lib)
}

// placeAt puts the file that name leads to at name itself, so that the guest
// needs none of the host's links between folders.
func (im *image) placeAt(name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	return im.copyAs(real, name)
}
