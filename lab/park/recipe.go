package park

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Recipe says how a host is made.
type Recipe struct {
	Name  string `yaml:"-"` // the file's
	About string `yaml:"about"`
	// Release is the code name of one of Debian's or Ubuntu's: bookworm, noble.
	Release string `yaml:"release"`
	// Packages are installed with apt-get, with what they recommend unless Bare.
	Packages []string `yaml:"packages"`
	Bare     bool     `yaml:"bare"`
	// Build is a shell script that runs in the image, after the packages.
	Build string `yaml:"build"`
	// Begin is a shell script that runs on the booted host before fettle looks.
	Begin string `yaml:"begin"`
	// Inside is a shell script that runs fettle check --format json in a
	// container on the host.
	Inside string `yaml:"inside"`
	// Boots are the ways in which it is booted: container, machine.
	Boots []string `yaml:"boots"`
	// Fresh: as the distribution leaves it. Nothing above a notice may be found.
	Fresh bool `yaml:"fresh"`
	// Sinner: a host made to be accused, of more than one screen may tell.
	Sinner bool `yaml:"sinner"`
	// Privileged containers keep all capabilities, as those of Docker's hosts must.
	Privileged bool `yaml:"privileged"`
	// Disks are further disks of a machine, in MiB.
	Disks []int `yaml:"disks"`
}

// screen is how many lines fettle check may print of the host.
func (r Recipe) screen() int {
	if r.Sinner {
		return 40
	}
	return 24
}

// ways are the ways to boot a host.
var ways = []string{"container", "machine"}

// Recipes reads all recipes of a folder.
func Recipes(dir fs.FS) ([]Recipe, error) {
	return readAll(dir, func(r *Recipe, name string) error {
		r.Name = name
		return r.valid()
	})
}

// readAll reads all files of a folder. finish gives each its name, and says what is wrong with it.
func readAll[T any](dir fs.FS, finish func(t *T, name string) error) ([]T, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []T
	for _, f := range files {
		b, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		var t T
		err = yaml.UnmarshalWithOptions(b, &t, yaml.Strict())
		if err == nil {
			err = finish(&t, strings.TrimSuffix(path.Base(f), ".yaml"))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func (r *Recipe) valid() error {
	if r.About == "" {
		return fmt.Errorf("about is missing")
	}
	if !slices.Contains(releases(), r.Release) {
		return fmt.Errorf("release %q is none of %s", r.Release, strings.Join(releases(), ", "))
	}
	if len(r.Boots) == 0 {
		r.Boots = []string{"container"}
	}
	for _, b := range r.Boots {
		if !slices.Contains(ways, b) {
			return fmt.Errorf("boots: %q is none of %s", b, strings.Join(ways, ", "))
		}
	}
	return nil
}
