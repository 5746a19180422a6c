package lab

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// modules adds kernel modules by name with all they depend on, and what
// modprobe needs to find them; those of may only where the kernel has them. dir
// is the folder named after the release.
func (im *image) modules(dir string, names, may []string) ([]string, error) {
	if len(names)+len(may) == 0 || dir == "" && len(names) == 0 {
		return nil, nil
	}
	if dir == "" {
		return nil, fmt.Errorf(
			"no folder of this kernel's modules was found, and %s is needed: name it with --modules",
			strings.Join(names, ", "),
		)
	}
	deps, err := readModulesDep(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's modules: %w", err)
	}
	builtin := readBuiltin(dir)
	var order []string // in the order in which to load
	seen := map[string]bool{}
	for i, n := range slices.Concat(names, may) {
		key := moduleName(n)
		file, ok := deps.file[key]
		if !ok {
			if builtin[key] || i >= len(names) {
				continue
			}
			return nil, fmt.Errorf("this kernel has no module %s (looked in %s)", n, dir)
		}
		need := append([]string{file}, deps.needs[file]...)
		for i := len(need) - 1; i >= 0; i-- { // modules.dep lists the outermost first
			if seen[need[i]] {
				continue
			}
			seen[need[i]] = true
			to := "/modules/" + moduleName(need[i]) + ".ko"
			order = append(order, to)
			if err := im.module(filepath.Join(dir, need[i]), to); err != nil {
				return nil, err
			}
		}
	}
	return order, nil
}

type modulesDep struct {
	file  map[string]string   // name → path below the release's folder
	needs map[string][]string // path → paths
}

func moduleName(file string) string {
	base, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(base, "-", "_")
}

// readModulesDep reads modules.dep(5).
func readModulesDep(name string) (modulesDep, error) {
	d := modulesDep{map[string]string{}, map[string][]string{}}
	b, err := os.ReadFile(name)
	if err != nil {
		return d, err
	}
	for line := range strings.Lines(string(b)) {
		file, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		d.file[moduleName(file)] = file
		d.needs[file] = strings.Fields(needs)
	}
	return d, nil
}

// readBuiltin reads which modules a kernel has built in: modules.builtin names those that
// could be modules, modules.builtin.modinfo (NAME.TAG=VALUE, each ended by a zero) others
// that have parameters, too: in Linux 7.2 ipv6 cannot be a module (net/ipv6/Kconfig).
func readBuiltin(dir string) map[string]bool {
	builtin := map[string]bool{}
	list, _ := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	for line := range strings.Lines(string(list)) {
		builtin[moduleName(strings.TrimSpace(line))] = true
	}
	info, _ := os.ReadFile(filepath.Join(dir, "modules.builtin.modinfo"))
	for field := range strings.SplitSeq(string(info), "\x00") {
		if name, _, ok := strings.Cut(field, "."); ok {
			builtin[moduleName(name)] = true
		}
	}
	return builtin
}

// module adds one module, unpacked: not every kernel unpacks by itself.
func (im *image) module(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(from) {
	case ".xz":
		if r, err = xz.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		defer z.Close()
		r = z
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return im.file(to, 0o644, int64(len(b)), bytes.NewReader(b))
}
