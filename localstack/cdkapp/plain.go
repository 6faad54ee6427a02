package cdkapp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Names of the parameters of a plain template.
const (
	ParamBucket    = "AssetsBucket"
	ParamPrefix    = "AssetsPrefix"
	paramEmail     = "AlarmEmail"
	paramRetention = "LogRetention"
)

// WritePlain writes the assembly to the folder dir, as one template and a zip file for each function. It
// returns the path of the template, and changes the assembly's Template. A deployment of this template needs
// neither the CDK nor its bootstrap. The template has these parameters:
//   - the bucket and the prefix of the zip files
//   - the email address for alarms and alerts
//   - the retention of logs
//   - the memory of each function
func (a *Assembly) WritePlain(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	parameters := a.Template.object("Parameters")
	own := maps.Clone(parameters)
	if err := a.writeCode(dir); err != nil {
		return "", err
	}
	parameters[ParamBucket] = parameter("String", "Bucket with the functions' zips, in the stack's Region")
	parameters[ParamPrefix] = parameter("String", "Start of the zips' keys, such as stepkeeper/",
		"Default", "")
	var groups []map[string]any
	a.Template.Each("AWS::Logs::LogGroup", func(_ string, p map[string]any) { groups = append(groups, p) })
	a.replace(groups, "RetentionInDays", paramRetention, "Number",
		"Days for which the functions' logs are kept")
	a.address()
	delete(a.Template.object("Resources"), "CDKMetadata")
	delete(a.Template.object("Conditions"), "CDKMetadataAvailable")
	if len(a.Template.object("Conditions")) == 0 { // CloudFormation refuses an empty section
		delete(a.Template, "Conditions")
	}
	for name := range own {
		if !reflect.DeepEqual(own[name], parameters[name]) {
			return "", fmt.Errorf("the template needs the parameter %s, and the app has one of that name; "+
				"rename the app's", name)
		}
	}
	text, err := json.MarshalIndent(a.Template, "", " ")
	if err == nil && bootstrapBucket.Match(text) {
		err = errors.New("the app has files that are no function's code, in the bucket of the CDK's " +
			"bootstrap; deploy it with the CDK")
	}
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, a.Stack+".template.json")
	return to, os.WriteFile(to, append(text, '\n'), 0o644)
}

var bootstrapBucket = regexp.MustCompile(`cdk-[a-z0-9]+-assets-`)

const emailText = "Address that gets alarms, and alerts of orders in Error"

func (a *Assembly) writeCode(dir string) error {
	files := map[string]asset{} // assets by key in the bootstrap bucket
	for _, file := range a.assets.Files {
		for _, to := range file.Destinations {
			files[to.ObjectKey] = file
		}
	}
	written := map[string]error{}
	a.Template.Each("AWS::Lambda::Function", func(id string, p map[string]any) {
		code, _ := p["Code"].(map[string]any)
		key, _ := code["S3Key"].(string)
		if file, found := files[key]; found {
			name := strings.TrimSuffix(path.Base(key), path.Ext(key)) + ".zip" // a jar file is a zip file
			if _, done := written[name]; !done {
				body, err := a.read(file)
				written[name] = errors.Join(err, os.WriteFile(filepath.Join(dir, name), body, 0o644))
			}
			p["Code"] = map[string]any{
				"S3Bucket": ref(ParamBucket),
				"S3Key":    map[string]any{"Fn::Sub": "${" + ParamPrefix + "}" + name},
			}
		}
		if memory := fixed(p["MemorySize"]); memory != nil {
			a.Template.object("Parameters")[id+"Memory"] = parameter("Number", "Memory of "+id+" in MB",
				"Default", memory, "MinValue", 128, "MaxValue", 10_240)
			p["MemorySize"] = ref(id + "Memory")
		}
	})
	return errors.Join(slices.Collect(maps.Values(written))...)
}

// replace adds a parameter for a property, if all fixed values of the property in the resources are equal. It
// does not change values that are CloudFormation expressions.
func (a *Assembly) replace(resources []map[string]any, property, name, kind, description string) {
	var value any
	for _, p := range resources {
		v := fixed(p[property])
		if v != nil && value != nil && v != value {
			return
		}
		value = cmp.Or(v, value)
	}
	if value == nil {
		return
	}
	a.Template.object("Parameters")[name] = parameter(kind, description, "Default", value)
	for _, p := range resources {
		if p[property] == value {
			p[property] = ref(name)
		}
	}
}

func fixed(v any) any {
	switch v.(type) {
	case string, float64:
		return v
	}
	return nil
}

// address makes the email address for alarms and alerts a parameter. If no topic has an email subscription,
// address adds subscriptions. They exist only if the parameter is set.
func (a *Assembly) address() {
	mails := map[string][]map[string]any{} // email subscriptions by topic of alarms or alerts
	for name, output := range a.Template.object("Outputs") {
		value, _ := output.(map[string]any)["Value"].(map[string]any)
		topic, _ := value["Ref"].(string)
		if topic != "" && (strings.HasSuffix(name, "AlertsTopic") || strings.HasSuffix(name, "AlarmsTopic")) {
			mails[topic] = nil
		}
	}
	a.Template.Each("AWS::SNS::Subscription", func(_ string, p map[string]any) {
		of, _ := p["TopicArn"].(map[string]any)
		topic, _ := of["Ref"].(string)
		if _, ours := mails[topic]; ours && p["Protocol"] == "email" {
			mails[topic] = append(mails[topic], p)
		}
	})
	if all := slices.Concat(slices.Collect(maps.Values(mails))...); len(all) > 0 || len(mails) == 0 {
		a.replace(all, "Endpoint", paramEmail, "String", emailText)
		return
	}
	a.Template.object("Parameters")[paramEmail] = parameter("String", emailText, "Default", "")
	a.Template.object("Conditions")["HasEmail"] = map[string]any{
		"Fn::Not": []any{map[string]any{"Fn::Equals": []any{ref(paramEmail), ""}}},
	}
	for topic := range mails {
		a.Template.object("Resources")[topic+"Email"] = map[string]any{
			"Type":      "AWS::SNS::Subscription",
			"Condition": "HasEmail", "Properties": map[string]any{
				"Protocol": "email", "TopicArn": ref(topic),
				"Endpoint": ref(paramEmail),
			},
		}
	}
}

func ref(id string) map[string]any { return map[string]any{"Ref": id} }

func parameter(kind, description string, more ...any) map[string]any {
	p := map[string]any{"Type": kind, "Description": description}
	for i := 0; i+1 < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	return p
}

func (t Template) object(name string) map[string]any {
	section, ok := t[name].(map[string]any)
	if !ok {
		section = map[string]any{}
		t[name] = section
	}
	return section
}
