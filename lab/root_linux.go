package lab

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rootTool adds a program that was built with the kernel, under root, with its
// libraries: those that are there too first, then the host's.
func (im *image) rootTool(root, name string) error {
	if root == "" {
		return fmt.Errorf("the kernel has no programs built with it, and %s is needed", name)
	}
	for _, d := range toolDirs {
		p := filepath.Join(root, d, name)
		if exists(p) {
			if err := im.copyAs(p, filepath.Join(d, name)); err != nil {
				return err
			}
			return im.rootLibraries(root, p)
		}
	}
	return fmt.Errorf("no program %s was built with the kernel (looked in %s)", name, root)
}

func (im *image) rootLibraries(root, file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	return im.linked(f, file, func(lib string) error { return im.rootLibrary(root, lib) })
}

func (im *image) rootLibrary(root, lib string) error {
	for _, d := range libDirs {
		real, err := filepath.EvalSymlinks(filepath.Join(root, d, lib))
		if err != nil {
			continue
		}
		if !strings.HasPrefix(real, root+"/") {
			return fmt.Errorf("%s leads out of %s", lib, root)
		}
		to := filepath.Join(d, lib)
		if im.have[inside(to)] {
			return nil
		}
		if err := im.copyAs(real, to); err != nil {
			return err
		}
		return im.rootLibraries(root, real)
	}
	return im.library(lib)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
