// Package kubernetes checks packaging/kubernetes without a Kubernetes server: each document against the published
// types, and the pods of the StatefulSet as processes.
package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const file = "../../packaging/kubernetes/duplex.yaml"

// manifests are the documents of the file.
type manifests struct {
	settings core.ConfigMap
	names    core.Service // of the members
	callers  core.Service
	budget   policy.PodDisruptionBudget
	policy   network.NetworkPolicy
	members  apps.StatefulSet
}

// read decodes each document of the file strictly: a field that its type lacks, or one that is there twice, is an
// error.
func read(t *testing.T) (m manifests) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		var head meta.PartialObjectMetadata
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatalf("document %d: %v", i+1, err)
		}
		into := map[string]runtime.Object{
			"v1 ConfigMap duplex": &m.settings, "v1 Service duplex": &m.names, "v1 Service duplex-public": &m.callers,
			"policy/v1 PodDisruptionBudget duplex": &m.budget, "networking.k8s.io/v1 NetworkPolicy duplex": &m.policy,
			"apps/v1 StatefulSet duplex": &m.members,
		}[fmt.Sprint(head.APIVersion, " ", head.Kind, " ", head.Name)]
		if into == nil {
			t.Fatalf("document %d is not known here: %s %s %s", i+1, head.APIVersion, head.Kind, head.Name)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Errorf("document %d, %s: %v", i+1, head.Kind, err)
		}
		found++
	}
	if found != 6 {
		t.Errorf("%d documents, want 6", found)
	}
	return m
}

// pod is the only container of the StatefulSet's pods.
func (m *manifests) container(t *testing.T) *core.Container {
	t.Helper()
	list := m.members.Spec.Template.Spec.Containers
	if len(list) != 1 {
		t.Fatalf("%d containers, want 1", len(list))
	}
	return &list[0]
}

// TestManifests checks that the documents fit each other and what a cluster needs.
func TestManifests(t *testing.T) {
	m := read(t)
	set, c := &m.members.Spec, m.container(t)
	labels := set.Template.Labels
	for what, selector := range map[string]map[string]string{
		"StatefulSet": set.Selector.MatchLabels, "PodDisruptionBudget": m.budget.Spec.Selector.MatchLabels, "NetworkPolicy": m.policy.Spec.PodSelector.MatchLabels,
		"Service of the names": m.names.Spec.Selector, "Service of callers": m.callers.Spec.Selector,
	} {
		if !reflect.DeepEqual(selector, labels) {
			t.Errorf("the %s selects %v, the pods have %v", what, selector, labels)
		}
	}

	if m.names.Name != set.ServiceName || m.names.Spec.ClusterIP != core.ClusterIPNone || !m.names.Spec.PublishNotReadyAddresses {
		t.Errorf("the members' service %s is not the headless one that names members which are not ready", m.names.Name)
	}
	if m.callers.Spec.PublishNotReadyAddresses {
		t.Error("callers get members that are not ready")
	}
	if set.PodManagementPolicy != apps.ParallelPodManagement {
		t.Errorf("the first member would wait for the second: %q", set.PodManagementPolicy)
	}
	if n := m.budget.Spec.MaxUnavailable; n == nil || n.IntValue() != 1 || *set.Replicas < 3 {
		t.Errorf("%v of %d members may be away", n, *set.Replicas)
	}
	var founders []string
	for i := range int(*set.Replicas) {
		name := fmt.Sprintf("%s-%d", m.members.Name, i)
		founders = append(founders, fmt.Sprintf("%s=%s.%s:7000", name, name, set.ServiceName))
	}
	if got := m.settings.Data["DX_CLUSTER"]; got != strings.Join(founders, ",") {
		t.Errorf("the cluster is %s, the pods are %v", got, founders)
	}

	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, p := range slices.Concat(m.names.Spec.Ports, m.callers.Spec.Ports) {
		if ports[p.Name] != p.Port {
			t.Errorf("the port %s is %d of a service and %d of a member", p.Name, p.Port, ports[p.Name])
		}
	}
	for _, rule := range m.policy.Spec.Ingress {
		for _, p := range rule.Ports {
			internal := p.Port.StrVal == "peer" || p.Port.StrVal == "follow"
			if _, known := ports[p.Port.StrVal]; !known || internal != (len(rule.From) == 1 && reflect.DeepEqual(rule.From[0].PodSelector.MatchLabels, labels)) {
				t.Errorf("the port %s is open to %v", p.Port.String(), rule.From)
			}
			delete(ports, p.Port.StrVal)
		}
	}
	if len(ports) > 0 {
		t.Errorf("ports that nobody reaches: %v", ports)
	}

	image, err := os.ReadFile("../../packaging/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if wait := 5 * time.Second; !bytes.Contains(image, []byte("DX_DRAIN_WAIT="+wait.String()+"\n")) || time.Duration(*set.Template.Spec.TerminationGracePeriodSeconds)*time.Second < wait+10*time.Second {
		t.Errorf("a member is killed after %d s, which is less than the wait of the image and a stop", *set.Template.Spec.TerminationGracePeriodSeconds)
	}
	if !bytes.Contains(image, []byte(fmt.Sprintf("USER %d:%d\n", *set.Template.Spec.SecurityContext.RunAsUser, *set.Template.Spec.SecurityContext.RunAsGroup))) {
		t.Error("the user is not that of the image")
	}

	volumes := map[string]bool{}
	for _, v := range set.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range set.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	for _, v := range c.VolumeMounts {
		if !volumes[v.Name] {
			t.Errorf("no volume %s", v.Name)
		}
	}
}
