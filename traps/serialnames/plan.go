package serialnames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/udev"
	"fettle/tools/serialname"
)

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	know, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	l, err := look(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	switch {
	case know.Command != "":
		return l.limitProgram(ctx, f.Subject, know)
	case know.Ignore != "":
		return l.ignore(ctx, know.Ignore)
	case know.Trigger != "":
		d, err := l.chosen(know.Trigger)
		if err != nil {
			return remedy.Plan{}, err
		}
		return remedy.Plan{Title: "have udev apply the rule of " + f.Subject, Steps: apply(d, strings.TrimPrefix(f.Subject, "/dev/"))}, nil
	case strings.HasPrefix(f.Subject, "/dev/"):
		return l.set(ctx, strings.TrimPrefix(f.Subject, "/dev/"), f)
	}
	return l.rewrite(ctx, f)
}

// apply has udev read its rules again and apply them to one device, and to
// the one that has the name: by the time of an undo they may be plugged in
// elsewhere, or gone.
func apply(d *serialname.Device, name string) []step.Step {
	trigger := func(match string) step.Step {
		return step.Command{
			Do:    []string{udevadm(), "trigger", "--action=change", "--settle", "--subsystem-match=tty", match},
			Again: true,
			Limit: 2 * time.Minute,
		}
	}
	steps := []step.Step{step.Command{Do: []string{udevadm(), "control", "--reload"}, Again: true}, trigger("--sysname-match=" + d.Kernel)}
	if name != "" {
		steps = append(steps, trigger("--property-match=DEVLINKS=*/dev/"+name+"*"))
	}
	return steps
}

// udevadm is where every distribution has it: before the merge of /usr in /bin,
// which is a link since.
func udevadm() string { return "/bin/udevadm" }

// set gives a device a name.
func (l *looked) set(ctx context.Context, name string, f trap.Finding) (remedy.Plan, error) {
	if err := serialname.CheckName(name); err != nil {
		return remedy.Plan{}, remedy.Refuse("%v", err)
	}
	d, err := l.chosen(f.Chosen("device"))
	if err != nil {
		return remedy.Plan{}, err
	}
	if err := l.free(ctx, name); err != nil {
		return remedy.Plan{}, err
	}
	w := serialname.Wanted{Name: name, By: serialname.By(f.Chosen("by")), Modem: f.Chosen("modem") == "yes"}
	p := remedy.Plan{Title: fmt.Sprintf("name %s /dev/%s", d.Dev(), name), Settle: 20 * time.Second}
	if w.By == "" && f.Chosen("profile") != "" {
		w.By = serialname.ByProbe
	}
	if err := l.distinguish(ctx, d, &w, &p, f.Chosen("profile")); err != nil {
		return p, err
	}
	lines, err := serialname.Lines(d, w)
	if err != nil {
		return p, remedy.Refuse("%v", err)
	}
	steps, err := l.rulesFiles(ctx, name, lines)
	if err != nil {
		return p, err
	}
	p.Steps = append(steps, apply(d, name)...)
	return p, nil
}

// chosen is the device of that name, where it is still plugged in.
func (l *looked) chosen(device string) (*serialname.Device, error) {
	if device == "" {
		return nil, remedy.Refuse("which device should have the name? --with device=ttyUSB0; fettle serialname list shows them")
	}
	d, err := serialname.Choose(l.survey.Devices, device)
	if err != nil {
		return nil, remedy.Refuse("%v", err)
	}
	return d, nil
}

// free refuses a name that something other than a link of udev's has.
func (l *looked) free(ctx context.Context, name string) error {
	_, err := l.h.Readlink(ctx, "/dev/"+name)
	if err == nil || host.IsAbsent(err) {
		return nil
	}
	if _, err := l.h.Lstat(ctx, "/dev/"+name); err == nil {
		return remedy.Refuse("/dev/%s exists already, and is not a link: choose another name", name)
	}
	return err
}

// distinguish decides what tells the device apart, and says what that means.
func (l *looked) distinguish(ctx context.Context, d *serialname.Device, w *serialname.Wanted, p *remedy.Plan, profile string) error {
	unique := serialname.Unique(d, l.survey.Devices)
	if w.By == "" {
		if w.By = serialname.ByPlug; unique {
			w.By = serialname.BySerial
		}
	}
	switch w.By {
	case serialname.BySerial:
		if !unique && d.Serial != "" {
			return remedy.Refuse("another device here has the serial number %s too: choose --by port or --by probe", d.Serial)
		}
	case serialname.ByPlug:
		p.Notes = append(
			p.Notes,
			"The name belongs to the port "+d.Port+": plugged in elsewhere, the device loses it; another one of its kind that is plugged in "+
				"there gets it.",
		)
	case serialname.ByProbe:
		return l.byProbe(ctx, d, w, p, profile)
	}
	return nil
}

func (l *looked) byProbe(ctx context.Context, d *serialname.Device, w *serialname.Wanted, p *remedy.Plan, profile string) error {
	all, err := serialname.Profiles(ctx, l.h)
	i := slices.IndexFunc(all, func(p serialname.Profile) bool { return p.Name == profile })
	switch {
	case profile == "":
		return remedy.Refuse("a probe needs a profile: fettle serialname probe --list shows them")
	case i < 0:
		return remedy.Refuse("there is no profile %s: %v", profile, errors.Join(err, errors.New("fettle serialname probe --list shows them")))
	}
	self, err := l.ownProgram(ctx)
	if err != nil {
		return err
	}
	w.Profile = profile
	w.Probe = []string{self, "serialname", "probe", "--quiet", "--profile", profile}
	p.Settle = all[i].Limit() + 20*time.Second
	p.Notes = append(
		p.Notes,
		fmt.Sprintf("Whenever a device of the kind %s is plugged in, udev waits up to %s for its answer.", d.IDs(), all[i].Limit()),
	)
	if all[i].Writes() {
		p.Notes = append(p.Notes, "The profile "+profile+" sends bytes to every device of that kind that has no name yet.")
	}
	return nil
}

// installed are the places where udev can count on fettle.
var installed = []string{"/usr/bin/fettle", "/usr/local/bin/fettle"}

// ownProgram is the installed fettle, if udev, which runs it as root, may trust it.
func (l *looked) ownProgram(ctx context.Context) (string, error) {
	for _, bin := range installed {
		if there, err := l.h.Exists(ctx, bin); err != nil || !there {
			continue
		}
		for at := bin; ; at = path.Dir(at) {
			st, err := l.h.Stat(ctx, at)
			if err != nil {
				return "", err
			}
			if st.UID != 0 || st.Mode.Perm()&0o022 != 0 {
				return "", remedy.Refuse("udev would run %s as root, and others than root can change %s", bin, at)
			}
			if at == "/" {
				return bin, nil
			}
		}
	}
	return "", remedy.Refuse("udev would have to run fettle: install it as %s first", strings.Join(installed, " or "))
}

// rulesFiles are the steps that write the rule, and take out those that gave the name so far.
func (l *looked) rulesFiles(ctx context.Context, name, lines string) ([]step.Step, error) {
	was, err := l.h.ReadFile(ctx, serialname.RulesFile)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	content := []byte(serialname.WithName(string(was), name, lines))
	if _, errs := udev.Parse(serialname.RulesFile, content); len(errs) > 0 {
		return nil, remedy.Refuse("with the new lines, udev would not accept all of it: %v", errs[0])
	}
	var steps []step.Step
	for _, r := range l.rulesOf(name) {
		if !strings.HasPrefix(r.Path, "/etc/udev/rules.d/") {
			return nil, remedy.Refuse("%s gives /dev/%s already: change that first", r.At(), name)
		}
		if r.Path == serialname.RulesFile {
			continue
		}
		out, err := l.commentOut(ctx, r)
		if err != nil {
			return nil, err
		}
		steps = append(steps, out)
	}
	if bytes.Equal(was, content) {
		return steps, nil
	}
	return append(steps, step.File{Path: serialname.RulesFile, Content: content, Was: was}), nil
}

// rulesOf are the admin's rules that give a name, each file once.
func (l *looked) rulesOf(name string) (out []udev.Rule) {
	for _, r := range l.survey.Rules.Rules {
		gives := slices.ContainsFunc(r.Tokens, func(t udev.Token) bool {
			return t.Key == "SYMLINK" && !t.Match() && slices.Contains(strings.Fields(t.Value), name)
		})
		if gives && serialname.Own(r) {
			out = append(out, r)
		}
	}
	return out
}

// commentOut makes comments of a rule's lines.
func (l *looked) commentOut(ctx context.Context, r udev.Rule) (step.Step, error) {
	was, err := l.h.ReadFile(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(was), "\n")
	for i := r.Line - 1; i < len(lines); i++ {
		more := strings.HasSuffix(strings.TrimRight(lines[i], "\r\n"), `\`)
		lines[i] = "#" + lines[i]
		if !more {
			break
		}
	}
	if len(l.ofFile(r)) > 1 {
		return nil, remedy.Refuse("%s gives the name more than once: leave one line", r.Path)
	}
	return step.File{Path: r.Path, Content: []byte(strings.Join(lines, "")), Was: was}, nil
}

// ofFile are the rules of r's file that give a name of r's.
func (l *looked) ofFile(r udev.Rule) (out []udev.Rule) {
	for _, t := range r.Tokens {
		if t.Key == "SYMLINK" && !t.Match() {
			for _, o := range l.rulesOf(t.Value) {
				if o.Path == r.Path {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// limitProgram puts timeout(1) before a program that rules run.
func (l *looked) limitProgram(ctx context.Context, program string, know facts) (remedy.Plan, error) {
	file, command := know.Rule, know.Command
	was, err := l.h.ReadFile(ctx, file)
	if err != nil {
		return remedy.Plan{}, err
	}
	if !strings.HasPrefix(file, "/etc/udev/rules.d/") || !path.IsAbs(command) {
		return remedy.Plan{}, remedy.Refuse("%s: put /usr/bin/timeout 10 before the program by hand", file)
	}
	const timeout = "/usr/bin/timeout"
	if there, err := l.h.Exists(ctx, timeout); err != nil {
		return remedy.Plan{}, err
	} else if !there {
		return remedy.Plan{}, remedy.Refuse("%s, which would end it after 10 s, is not installed (package coreutils)", timeout)
	}
	now := strings.ReplaceAll(string(was), `"`+command+`"`, `"/usr/bin/timeout 10 `+command+`"`)
	if now == string(was) {
		return remedy.Plan{}, remedy.Refuse("%s does not say %q in one piece: put /usr/bin/timeout 10 before it by hand", file, command)
	}
	return remedy.Plan{Title: "end " + program + " after 10 s", Vanishes: "timeout(1) is what udev runs now",
		Steps: []step.Step{
			step.File{Path: file, Content: []byte(now), Was: was},
			step.Command{Do: []string{udevadm(), "control", "--reload"}, Again: true},
		}}, nil
}

// ignore has ModemManager leave a port alone.
func (l *looked) ignore(ctx context.Context, kernel string) (remedy.Plan, error) {
	d, err := l.chosen(kernel)
	if err != nil {
		return remedy.Plan{}, err
	}
	const file = "/etc/udev/rules.d/78-fettle-no-modem.rules"
	was, err := l.h.ReadFile(ctx, file)
	if err != nil && !host.IsAbsent(err) {
		return remedy.Plan{}, err
	}
	line := fmt.Sprintf(
		"SUBSYSTEM==\"tty\", ATTRS{idVendor}==\"%s\", ATTRS{idProduct}==\"%s\", ENV{ID_MM_PORT_IGNORE}=\"1\"\n",
		d.Vendor,
		d.Product,
	)
	return remedy.Plan{Title: "have ModemManager leave " + d.IDs() + " alone", Vanishes: "ModemManager no longer uses the port",
		Notes: []string{"ModemManager leaves the port when it is restarted, or the device is plugged in again."},
		Steps: append([]step.Step{step.File{Path: file, Content: append(bytes.Clone(was), line...), Was: was}}, apply(d, "")...)}, nil
}

// rewrite has a configuration name its devices by what they are.
func (l *looked) rewrite(ctx context.Context, f trap.Finding) (remedy.Plan, error) {
	i := slices.IndexFunc(l.configs, func(c config) bool { return c.path == f.Subject && !c.getty })
	if i < 0 {
		return remedy.Plan{}, remedy.Refuse("%s no longer names such a device", f.Subject)
	}
	c := l.configs[i]
	was, err := l.h.ReadFile(ctx, c.path)
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: "have " + c.of + " give its device a permanent name", Vanishes: "it names no device by number"}
	lines := strings.SplitAfter(string(was), "\n")
	for _, at := range c.lines {
		if strings.HasPrefix(at.dev, "/dev/serial/") {
			continue
		}
		name, why := l.stable(at.dev)
		if name == "" {
			return remedy.Plan{}, remedy.Refuse(
				"%s is not plugged in, so the device is not known: plug it in, or name another in %s by hand",
				at.dev,
				c.path,
			)
		}
		lines[at.n-1] = replaceDevice(lines[at.n-1], at.dev, name)
		p.Notes = append(p.Notes, fmt.Sprintf("%s is named %s.", at.dev, why))
	}
	p.Notes = append(slices.Compact(p.Notes), c.of+" uses the new name when it starts the next time.")
	st, err := l.h.Stat(ctx, c.path)
	if err != nil {
		return remedy.Plan{}, err
	}
	p.Steps = []step.Step{step.File{Path: c.path, Content: []byte(strings.Join(lines, "")), Was: was, Secret: st.Mode.Perm()&0o004 == 0}}
	return p, nil
}

// replaceDevice replaces a device's whole name: ttyUSB1, and not the beginning of ttyUSB10.
func replaceDevice(line, dev, name string) string {
	return device().ReplaceAllStringFunc(line, func(s string) string {
		if s == dev {
			return name
		}
		return s
	})
}
