package deletedopenfiles

import (
	"slices"
	"strings"

	"fettle/host"
)

// unitsInside are the units of a container's own systemd that hold files.
func unitsInside(files []host.OpenFile) []string {
	var out []string
	for _, f := range files {
		if f.Inside != "" {
			out = append(out, f.Inside)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inContainer says what to do about programs in a container: the remedy lies
// inside it, where fettle changes nothing.
func inContainer(container string, inside []string) string {
	manager, name, _ := strings.Cut(container, "/")
	var enter string
	switch manager {
	case "lxc":
		enter = "lxc-attach -n " + name + " -- systemctl"
	case "nspawn":
		enter = "systemctl --machine=" + name
	case "docker", "podman", "nerdctl":
		return manager + " restart " + name + "; if its image is old, create the container again from a current one"
	case "containerd", "crio", "kubernetes":
		return "delete its pod, which Kubernetes creates again: crictl inspect " + name + " names it"
	default:
		return "restart the container, or create it again from a current image"
	}
	services := slices.DeleteFunc(slices.Clone(inside), func(u string) bool { return !restartable(u) || session(u) })
	switch {
	case len(services) > 0:
		return "restart them inside: " + enter + " restart " + strings.Join(services, " ")
	case slices.Contains(inside, "init.scope"):
		return "have the container's systemd start its new program: " + enter + " daemon-reexec"
	}
	return "restart the container " + name
}
