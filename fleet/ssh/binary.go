package ssh

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// binary is one build of fettle: hashed once, and packed once when a host lacks it.
type binary struct {
	path string
	load func() (hash string, err error) // SHA-256, hexadecimal
	pack func() ([]byte, error)          // gzip of what was hashed
}

func newBinary(path string) *binary {
	b := &binary{path: path}
	b.load = sync.OnceValues(func() (string, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return "", fmt.Errorf("reading %s: %w", path, err)
		}
		return hex.EncodeToString(sum.Sum(nil)), nil
	})
	b.pack = sync.OnceValues(func() ([]byte, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != must(b.load()) {
			return nil, fmt.Errorf("%s was replaced meanwhile: run again", path)
		}
		var buf bytes.Buffer
		// The hosts wait for this: speed before size. Memory takes all that is written.
		z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		z.Write(text)
		z.Close()
		return buf.Bytes(), nil
	})
	return b
}

func must(hash string, _ error) string { return hash }

// binaries finds the build for a kind of machine.
type binaries struct {
	dir  string
	self *binary
	mu   *sync.Mutex
	m    map[string]*binary // by GOARCH
}

func newBinaries(self, dir string) (binaries, error) {
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return binaries{}, fmt.Errorf("finding this program's file, to copy it: %w", err)
		}
	}
	if dir == "" {
		dir = filepath.Dir(self)
	} else if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return binaries{}, fmt.Errorf("the folder of binaries %s is not there", dir)
	}
	b := binaries{dir: dir, self: newBinary(self), mu: &sync.Mutex{}, m: map[string]*binary{}}
	if runtime.GOOS == "linux" {
		b.m[runtime.GOARCH] = b.self
	}
	return b, nil
}

// goarch is Go's name of a machine of uname(1).
func goarch(machine string) string {
	switch {
	case machine == "x86_64" || machine == "amd64":
		return "amd64"
	case machine == "aarch64" || machine == "arm64":
		return "arm64"
	case strings.HasPrefix(machine, "armv"):
		return "arm"
	case len(machine) == 4 && machine[0] == 'i' && machine[2:] == "86":
		return "386"
	case machine == "ppc64le", machine == "riscv64", machine == "s390x":
		return machine
	}
	return ""
}

// first is the build to ask a host for before it is known what it is.
func (b *binaries) first() *binary {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.m[runtime.GOARCH]; ok {
		return s
	}
	return b.self // not for Linux: no host has it, and so each says what it is
}

// lookup is the build for what uname -s and -m said.
func (b *binaries) lookup(system, machine string) (*binary, error) {
	arch := goarch(machine)
	if system != "Linux" || arch == "" {
		return nil, fmt.Errorf("fettle does not run on %s %s", system, machine)
	}
	b.mu.Lock()
	bin := b.m[arch]
	if bin == nil {
		bin = newBinary(filepath.Join(b.dir, "fettle-linux-"+arch))
		b.m[arch] = bin
	}
	b.mu.Unlock()
	if _, err := bin.load(); err != nil {
		if os.IsNotExist(err) {
			return nil, fmt.Errorf("it is a %s machine, and there is no %s to copy to it (--binary-dir names another folder)", machine, bin.path)
		}
		return nil, err
	}
	return bin, nil
}
