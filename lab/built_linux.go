package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Built is a kernel that make lab-GROUP has built here, by the name
// GROUP/KERNEL, in the user's cache folder: the file linux for User-Mode Linux or
// vmlinuz for qemu, modules.dep and modules.builtin beside it, and root, where
// programs were built with it.
func Built(name string) (Kernel, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return Kernel{}, fmt.Errorf("finding the cache folder of built kernels: %w", err)
	}
	group, _, _ := strings.Cut(name, "/")
	dir := filepath.Join(base, "fettle", "built", filepath.FromSlash(name))
	k := Kernel{Engine: "uml", File: filepath.Join(dir, "linux"), Modules: dir}
	if vm := filepath.Join(dir, "vmlinuz"); exists(vm) {
		k.Engine, k.File = "qemu", vm
	}
	if root := filepath.Join(dir, "root"); exists(root) {
		k.Root = root
	}
	file := k.File
	for _, f := range []string{file, filepath.Join(dir, "modules.dep"), filepath.Join(dir, "modules.builtin")} {
		if _, err := os.Stat(f); err != nil {
			return Kernel{}, fmt.Errorf("the kernel %s is not built here (no %s): make lab-%s builds it, in some minutes", name, f, group)
		}
	}
	// It is started with the rights of who asks for it.
	for _, f := range []string{filepath.Dir(dir), dir, file} {
		if err := othersMayWrite(f); err != nil {
			return Kernel{}, fmt.Errorf("the kernel %s is not started: %w; remove it, and make lab-%s builds it anew", name, err, group)
		}
	}
	return k, nil
}

// othersMayWrite tells whether a file can be changed by somebody who is neither
// this user nor root.
func othersMayWrite(name string) error {
	st, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symlink", name)
	}
	if own, ok := st.Sys().(*syscall.Stat_t); ok && int(own.Uid) != os.Geteuid() && own.Uid != 0 {
		return fmt.Errorf("%s belongs to the user %d", name, own.Uid)
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o)", name, st.Mode().Perm())
	}
	return nil
}
