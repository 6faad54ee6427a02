package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Parameters of a plain template.
const (
	ParamBucket    = "AssetsBucket"
	ParamPrefix    = "AssetsPrefix"
	paramEmail     = "AlarmEmail"
	paramRetention = "LogRetention"
)

// WritePlain writes the assembly to the folder dir as one template that needs neither the CDK nor its
// bootstrap, and the functions' zips beside it. It returns the template's path. The template has parameters
// for the place of the zips, an address for alarms and alerts, the retention of logs and each function's
// memory. It changes the assembly's template.
func (a *Assembly) WritePlain(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	zips, err := a.writeZips(dir)
	if err != nil {
		return "", err
	}
	parameters := a.Template.object("Parameters")
	parameters[ParamBucket] = parameter("String", "Bucket with the functions' zips, in the stack's Region")
	parameters[ParamPrefix] = parameter("String", "Start of the zips' keys, such as stepkeeper/",
		"Default", "")
	a.Template.Each("AWS::Lambda::Function", func(id string, p map[string]any) {
		code, _ := p["Code"].(map[string]any)
		if key, _ := code["S3Key"].(string); zips[key] {
			p["Code"] = map[string]any{"S3Bucket": ref(ParamBucket),
				"S3Key": map[string]any{"Fn::Sub": "${" + ParamPrefix + "}" + key}}
		}
		if p["MemorySize"] != nil {
			parameters[id+"Memory"] = parameter("Number", "Memory of "+id+" in MB",
				"Default", p["MemorySize"], "MinValue", 128, "MaxValue", 10_240)
			p["MemorySize"] = ref(id + "Memory")
		}
	})
	a.replace("AWS::Logs::LogGroup", "RetentionInDays", paramRetention, "Number",
		"Days for which the functions' logs are kept")
	if a.replace("AWS::SNS::Subscription", "Endpoint", paramEmail, "String", emailText) == 0 {
		a.subscribe(parameters)
	}
	delete(a.Template.object("Resources"), "CDKMetadata")
	delete(a.Template.object("Conditions"), "CDKMetadataAvailable")
	if len(a.Template.object("Conditions")) == 0 { // CloudFormation takes no empty section
		delete(a.Template, "Conditions")
	}
	text, err := json.MarshalIndent(a.Template, "", " ")
	if err == nil && bootstrapBucket.Match(text) {
		err = errors.New("the app has files that are no function's code, in the bucket of the CDK's " +
			"bootstrap; deploy it with the CDK")
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, a.Stack+".template.json")
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

var bootstrapBucket = regexp.MustCompile(`cdk-[a-z0-9]+-assets-`)

const emailText = "Address that gets alarms, and alerts of orders in Error"

// writeZips writes the zips of the assembly to the folder dir, and returns their names.
func (a *Assembly) writeZips(dir string) (map[string]bool, error) {
	m, err := a.manifest()
	if err != nil {
		return nil, err
	}
	zips := map[string]bool{}
	for _, file := range m.Files {
		if file.Source.Packaging != "zip" {
			continue
		}
		body, err := pack(filepath.Join(a.Dir, file.Source.Path), true)
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", file.Source.Path, err)
		}
		for _, to := range file.Destinations {
			name := filepath.Base(to.ObjectKey)
			if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
				return nil, err
			}
			zips[name] = true
		}
	}
	return zips, nil
}

// replace lets a parameter replace a property if it has one value in all resources of a type. It returns the
// number of values.
func (a *Assembly) replace(kind, property, name, of, description string) int {
	values := map[any]bool{}
	a.Template.Each(kind, func(_ string, p map[string]any) {
		if v := fixed(p[property]); v != nil {
			values[v] = true
		}
	})
	if len(values) != 1 {
		return len(values)
	}
	a.Template.Each(kind, func(_ string, p map[string]any) {
		if fixed(p[property]) != nil {
			a.Template.object("Parameters")[name] = parameter(of, description, "Default", p[property])
			p[property] = ref(name)
		}
	})
	return 1
}

// fixed returns a value that is no expression, and nil for an expression.
func fixed(v any) any {
	switch v.(type) {
	case string, float64:
		return v
	}
	return nil
}

// subscribe adds a subscription to the topics of alarms and alerts. It exists only if the parameter is set.
func (a *Assembly) subscribe(parameters map[string]any) {
	parameters[paramEmail] = parameter("String", emailText, "Default", "")
	a.Template.object("Conditions")["HasEmail"] = map[string]any{
		"Fn::Not": []any{map[string]any{"Fn::Equals": []any{ref(paramEmail), ""}}}}
	for name, output := range a.Template.object("Outputs") {
		value, _ := output.(map[string]any)["Value"].(map[string]any)
		topic, _ := value["Ref"].(string)
		if topic == "" || !strings.HasSuffix(name, "AlertsTopic") && !strings.HasSuffix(name, "AlarmsTopic") {
			continue
		}
		a.Template.object("Resources")[topic+"Email"] = map[string]any{"Type": "AWS::SNS::Subscription",
			"Condition": "HasEmail", "Properties": map[string]any{"Protocol": "email", "TopicArn": ref(topic),
				"Endpoint": ref(paramEmail)}}
	}
}

func ref(id string) map[string]any { return map[string]any{"Ref": id} }

// parameter returns a parameter with more properties, as names and values.
func parameter(kind, description string, more ...any) map[string]any {
	p := map[string]any{"Type": kind, "Description": description}
	for i := 0; i+1 < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	return p
}

// object returns a section of the template, which it adds if it is missing.
func (t Template) object(name string) map[string]any {
	section, ok := t[name].(map[string]any)
	if !ok {
		section = map[string]any{}
		t[name] = section
	}
	return section
}
