package unitcannotstartagain

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/fact/startup"
)

// service is a unit that runs, and what its files say now.
type service struct {
	*startup.Unit
	*startup.Text
	world *world
}

// looks are in the order in which systemd would fail.
var looks = []func(ctx context.Context, h *host.Host, s *service) (*fault, error){
	noCommand, conditions, environment, users, folders, programs, handMade,
}

// elsewhere tells whether paths of the unit are not paths of the host.
func (s *service) elsewhere() bool {
	for _, key := range []string{"RootDirectory", "RootImage", "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "MountImages",
		"ExtensionImages", "ExtensionDirectories"} {
		if s.Value("Service", key) != "" {
			return true
		}
	}
	return false
}

// noCommand: systemd refuses a service that starts nothing (systemd.service(5)).
func noCommand(_ context.Context, _ *host.Host, s *service) (*fault, error) {
	if s.SourcePath != "" || len(s.List("Service", "ExecStart")) > 0 || len(s.List("Service", "ExecStop")) > 0 ||
		s.Value("Unit", "SuccessAction") != "" {
		return nil, nil
	}
	return &fault{"its unit file has no ExecStart=", "write ExecStart= into its section [Service]", s.File, "no ExecStart="}, nil
}

// environment: a file without "-" before it must be there (systemd.exec(5), EnvironmentFile=).
func environment(ctx context.Context, h *host.Host, s *service) (*fault, error) {
	for _, e := range s.List("Service", "EnvironmentFile") {
		file, ok := s.Expand(strings.Trim(e.Value, `"'`))
		if strings.HasPrefix(file, "-") || !ok || !path.IsAbs(file) || strings.ContainsAny(file, `*?[`) ||
			s.Value("Service", "RootDirectory") != "" {
			continue
		}
		there, err := h.Exists(ctx, file)
		if err != nil {
			return nil, err
		}
		if !there {
			return &fault{"its environment file " + file + " does not exist", "restore " + file + ", or take EnvironmentFile= out of " + e.Path,
				e.At(), "EnvironmentFile=" + e.Value}, nil
		}
	}
	return nil, nil
}

// users: systemd looks the names up before it starts the program (status 217/USER, 216/GROUP).
func users(_ context.Context, _ *host.Host, s *service) (*fault, error) {
	if s.Value("Service", "DynamicUser") == "yes" || s.Value("Service", "DynamicUser") == "true" || s.Value("Service", "RootDirectory") != "" {
		return nil, nil
	}
	for _, q := range []struct{ key, says string }{{"User", "user"}, {"Group", "group"}, {"SupplementaryGroups", "group"}} {
		named := s.List("Service", q.key)
		if q.key != "SupplementaryGroups" { // the last one counts
			named = named[max(0, len(named)-1):]
		}
		for _, e := range named {
			for _, name := range strings.Fields(e.Value) {
				name, ok := s.Expand(name)
				if !ok || strings.Trim(name, "0123456789") == "" {
					continue
				}
				there, err := s.world.account(q.says, name)
				if err != nil {
					return nil, err
				}
				if !there {
					return &fault{fmt.Sprintf("the %s %q does not exist", q.says, name),
						"create the " + q.says + " again, or change " + q.key + "= in " + e.Path, e.At(), q.key + "=" + e.Value}, nil
				}
			}
		}
	}
	return nil, nil
}

// folders: the program starts in one (status 200/CHDIR); "-" before it and "~" are tolerant.
func folders(ctx context.Context, h *host.Host, s *service) (*fault, error) {
	e, ok := s.Last("Service", "WorkingDirectory")
	if !ok || s.elsewhere() {
		return nil, nil
	}
	dir, known := s.Expand(e.Value)
	if !known || !path.IsAbs(dir) || s.makes(dir) {
		return nil, nil
	}
	there, err := h.Exists(ctx, dir)
	if err != nil || there {
		return nil, err
	}
	return &fault{"its working directory " + dir + " does not exist",
		"make " + dir + " again, or change WorkingDirectory= in " + e.Path, e.At(), "WorkingDirectory=" + e.Value}, nil
}

// programs: each must be there and executable (status 203/EXEC).
func programs(ctx context.Context, h *host.Host, s *service) (*fault, error) {
	if s.elsewhere() {
		return nil, nil
	}
	for _, key := range []string{"ExecCondition", "ExecStartPre", "ExecStart"} {
		for _, e := range s.List("Service", key) {
			for command := range strings.SplitSeq(e.Value, " ; ") {
				program, prefixes := startup.Program(command)
				program, known := s.Expand(program)
				ignored := strings.Contains(prefixes, "-")
				if ignored || !known || !path.IsAbs(program) || strings.Contains(program, "$") {
					continue
				}
				why, err := executable(ctx, h, program)
				if err != nil {
					return nil, err
				}
				if why != "" {
					return &fault{why, "restore it, or change " + key + "= in " + e.Path, e.At(), key + "=" + program}, nil
				}
			}
		}
	}
	return nil, nil
}

// executable says why a program cannot be executed; empty if it can.
func executable(ctx context.Context, h *host.Host, program string) (string, error) {
	st, err := h.Stat(ctx, program)
	switch {
	case host.IsAbsent(err):
		return program + " does not exist", nil
	case err != nil:
		return "", err
	case st.Mode.IsRegular() && st.Mode.Perm()&0o111 == 0:
		return program + " is not executable", nil
	}
	return "", nil
}

// makes tells whether the unit itself makes a folder when it starts (RuntimeDirectory= and the like).
func (s *service) makes(dir string) bool {
	for _, d := range []struct{ key, below string }{{"RuntimeDirectory", "/run"}, {"StateDirectory", "/var/lib"},
		{"CacheDirectory", "/var/cache"}, {"LogsDirectory", "/var/log"}, {"ConfigurationDirectory", "/etc"}} {
		names := s.Words("Service", d.key)
		if slices.ContainsFunc(names, func(n string) bool {
			n, _, _ = strings.Cut(n, ":")
			n, _ = s.Expand(n)
			made := path.Join(d.below, n)
			return dir == made || strings.HasPrefix(made, dir+"/")
		}) {
			return true
		}
	}
	return false
}
