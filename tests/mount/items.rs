//! Tests of the files beside an item, and of renamed and copied items: shells and programs on a
//! real mount.

use crate::support::mounted;
use crate::support::mounted::{FLAT, Mount, ORDERS, create_table, memory, on_disk, put, s};
use ddbfs::fs::view::ViewOptions;

/// Runs scripts in one mount: each prints exactly the expected text. `e` prints the status and the
/// errno's words of a command that fails and `last` the session's last error.
fn check(mount: &Mount, cases: &[(&str, &str)]) {
    const TOOLS: &str = r#"
        e() { local text; text=$( { "$@"; } 2>&1 ); local status=$?; [ $status = 0 ] && echo "no error: $text" || echo "${text##*: }"; }
        last() { sed '1d; / ago$/d' .ddb/errors/last; }
        w() { printf '%s\n' "$2" > "$1"; }
        f=Orders/items/u1/o1 g=Orders/items/u1
    "#;
    let mut failures = Vec::new();
    for (script, expected) in cases {
        let ran = mount.sh(&format!("{TOOLS}{script}"));
        let found = format!("{}{}", ran.out, ran.err);
        if found.trim_end() == *expected {
            println!("ok: {script}");
        } else {
            failures.push(format!(
                "{script}\n--- found\n{found}\n--- expected\n{expected}\n"
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn mount_with(item: &str) -> Mount {
    let mount = Mount::with_tables();
    mount
        .sh(&format!(
            "mkdir Orders/items/u1 && echo '{item}' > Orders/items/u1/o1.json"
        ))
        .ok();
    mount
}

#[test]
fn a_patch_is_merged_into_the_item() {
    let mount =
        mount_with(r#"{"status":"open","total":5,"address":{"city":"Bern","zip":3000},"tmp":1}"#);
    check(
        &mount,
        &[
            (
                r#"w $f.patch '{"status":"shipped","tmp":null,"address":{"zip":null,"street":"x"},"gone":{"$null":true}}'; cat $f.json"#,
                r#"{"pk":"u1","sk":"o1","address":{"city":"Bern","street":"x"},"gone":null,"status":"shipped","total":5}"#,
            ),
            (
                r#"e w $f.patch '{"a":'; e w $f.patch '{"a":}'; last"#,
                "no error: \nInvalid argument\n  {\"a\":}\n       ^ expected a JSON value at byte 5\n  hint: is there a comma too many? The item is unchanged.",
            ),
            (
                r#"e w $f.patch '{"created":7}'; e w $f.patch '{"pk":null}'; last"#,
                "Invalid argument\nInvalid argument\n  `pk` is part of the key: it cannot be removed\n  hint: The item is unchanged.",
            ),
            (
                r#"w $f.patch '{"pk":"other"}'; tail -n1 .ddb/warnings.ndjson | jq -r .text"#,
                "`pk` in the body differs from the file's name; the name's key stays",
            ),
            (
                r#"w $g/new.patch '{"a":{"b":1,"c":null}}'; cat $g/new.json"#,
                r#"{"pk":"u1","sk":"new","a":{"b":1}}"#,
            ),
            (
                "ls $g; grep -c merge $f.patch; e rm $f.patch",
                "new.json\no1.json\n2\nRead-only file system",
            ),
            (
                r#"head -c 400000 /dev/zero | tr '\0' x > /tmp/ddbfs.$$; { printf '{"x":"'; cat /tmp/ddbfs.$$; printf '"}'; } > $f.patch; e cp <(printf '{"y":"'; cat /tmp/ddbfs.$$; printf '"}') $f.patch; rm /tmp/ddbfs.$$; jq '.x|length' $f.json"#,
                "File too large\n400000",
            ),
        ],
    );
}

#[test]
fn patches_of_many_writers_all_arrive() {
    let mount = mount_with("{}");
    let script = r#"for n in $(seq 8); do (for m in $(seq 10); do echo "{\"a$n\":{\"b$m\":$m}}" > Orders/items/u1/o1.patch || echo failed; done) & done; wait
        jq -c '[.[]|objects|length]' Orders/items/u1/o1.json"#;
    assert_eq!(mount.sh(script).ok(), "[10,10,10,10,10,10,10,10]\n");
}

#[test]
fn an_update_is_carried_out_exactly_once() {
    let mount = mount_with(r#"{"n":1,"status":"open","tmp":1}"#);
    check(
        &mount,
        &[
            (
                "w $f.update 'SET n = n + 1 REMOVE tmp IF n < 10'; jq -c '[.n,.tmp]' $f.json",
                "[2,null]",
            ),
            (
                "w $f.update 'SET status = \"it is\", tags = {\"$ss\":[\"a\"]}, d = {\"x\":[1]}'; cat $f.json",
                r#"{"pk":"u1","sk":"o1","d":{"x":[1]},"n":2,"status":"it is","tags":{"$ss":["a"]}}"#,
            ),
            (
                "w $f.update \"SET d.x[0] = 'q', n = n - 1 DELETE tags {\\\"\\$ss\\\":[\\\"a\\\"]}\"; cat $f.json",
                r#"{"pk":"u1","sk":"o1","d":{"x":["q"]},"n":1,"status":"it is"}"#,
            ),
            (
                "e w $f.update 'ADD n 1 IF attribute_not_exists(pk)'; last; jq .n $f.json",
                "Operation canceled\n  The conditional request failed\n  hint: The item is unchanged.\n1",
            ),
            (
                "e w $f.update 'SET n == 1'; last",
                "Invalid argument\n  Invalid UpdateExpression: Syntax error; token: \"=\", near: \"== :1\"\n  hint: The item is unchanged.",
            ),
            (
                "e w $f.update 'SET pk = 1'; last",
                "Invalid argument\n  One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key\n  hint: The item is unchanged.",
            ),
            // Pieces, several flushes, white space after it: executed once.
            (
                "exec 3> $f.update; for p in SE 'T n' ' = n' ' + 1'; do /bin/echo -n \"$p\" >&3; done; echo >&3; : >&3; /bin/true; echo >&3; exec 3>&-; jq .n $f.json",
                "2",
            ),
            ("printf 'ADD n 1' > $f.update; jq .n $f.json", "3"),
            (
                "printf 'ADD n 1' | dd of=$f.update bs=2 status=none; jq .n $f.json",
                "4",
            ),
            (
                "e sh -c \"{ echo 'ADD n 1'; echo 'ADD n 1'; } > $f.update\"; jq .n $f.json",
                "I/O error\n5",
            ),
            (
                "cat 2>/dev/null > $f.update <<END\nSET a = 1,\n b = 2\n IF n = 6\nEND\nlast | head -n1; e cp <(printf 'SET a = 1,\\n b = 2\\n IF n = 5\\n') $f.update; jq -c '[.a,.b]' $f.json",
                "  The conditional request failed\nno error: \n[1,2]",
            ),
            // bash writes line by line: text after a whole update is refused, with an error.
            (
                "e w $f.update $'SET a = 3\\n IF n = 0'; last | head -n1; jq .a $f.json",
                "Invalid argument\n  the text before this one was carried out; one open file takes one, so write it as a whole\n3",
            ),
            (
                r##"w $f.update '{"UpdateExpression":"SET #n = :n","ExpressionAttributeNames":{"#n":"n"},"ExpressionAttributeValues":{":n":{"N":"9"}}}'; jq .n $f.json"##,
                "9",
            ),
            (
                r#"e w $f.update '{"TableName":"Flat","UpdateExpression":"REMOVE n"}'; last | head -n1"#,
                "Invalid argument\n  TableName and Key come from the file's name; leave them out",
            ),
            (
                "w $g/new.update 'ADD views 1'; cat $g/new.json; e w $g/none.update 'ADD views 1 IF attribute_exists(pk)'; ls $g",
                "{\"pk\":\"u1\",\"sk\":\"new\",\"views\":1}\nOperation canceled\nnew.json\no1.json",
            ),
            (
                "e w Orders/items/none/x.update 'ADD views 1'; grep -c UpdateExpression $f.update",
                "No such file or directory\n1",
            ),
        ],
    );
}

#[test]
fn attributes_are_files_of_their_type() {
    let mount = mount_with(
        r#"{"status":"open","n":5,"flag":true,"address":{"city":"Bern","odd name":1},"tags":["a","b"],"set":{"$ss":["x"]},"bin":{"$b64":"AAE="},"a.d":1}"#,
    );
    check(
        &mount,
        &[
            (
                "ls -1 $f.d | tr '\\n' ' '; cat $f.d/status $f.d/n $f.d/flag $f.d/address $f.d/set; wc -c < $f.d/bin",
                "a.d address bin flag n pk set sk status tags open\n5\ntrue\n{\"city\":\"Bern\",\"odd name\":1}\n{\"$ss\":[\"x\"]}\n2",
            ),
            (
                "w $f.d/status 'in transit'; w $f.d/n 6.50; w $f.d/flag false; w $f.d/set '[\"z\",\"y\"]'; jq -c '[.status,.n,.flag,.set]' $f.json",
                "[\"in transit\",6.5,false,{\"$ss\":[\"y\",\"z\"]}]",
            ),
            (
                "e w $f.d/n six; last; e w $f.d/flag 1; jq -c '[.n,.flag]' $f.json",
                "Invalid argument\n  the attribute is a number: The parameter cannot be converted to a numeric value: six; write to the name with ,S to make it a string\n  hint: The item is unchanged.\nInvalid argument\n[6.5,false]",
            ),
            (
                "w $f.d/n,S six; w $f.d/count,N 7; w $f.d/on,BOOL true; w $f.d/map,JSON '{\"a\":[1]}'; printf '\\1\\2' > $f.d/bytes,B; jq -c '[.n,.count,.on,.map,.bytes]' $f.json",
                "[\"six\",7,true,{\"a\":[1]},{\"$b64\":\"AQI=\"}]",
            ),
            (
                "w $f.d/new text; rm $f.d/n $f.d/on $f.d/map $f.d/bytes $f.d/bin $f.d/a.d; e cat $f.d/n; cat $f.d/new; e rm $f.d/n",
                "No such file or directory\ntext\nNo such file or directory",
            ),
            (
                "w $f.d/address.d/city Basel; cat $f.d/address.d/odd%20name; w $f.d/address.d/zip,N 4000; ls $f.d/address.d; cat $f.d/address",
                "1\ncity\nodd%20name\nzip\n{\"city\":\"Basel\",\"odd name\":1,\"zip\":4000}",
            ),
            (
                "cat $f.d/tags.d/1; w $f.d/tags.d/1 c; w $f.d/tags.d/9 d; cat $f.d/tags; rm $f.d/tags.d/0; ls $f.d/tags.d; cat $f.d/tags",
                "b\n[\"a\",\"c\",\"d\"]\n0\n1\n[\"c\",\"d\"]",
            ),
            (
                "mkdir -p $f.d/deep.d/deeper.d && w $f.d/deep.d/deeper.d/x y; jq -c .deep $f.json; e rmdir $f.d/deep.d; rm -r $f.d/deep.d; jq -c .deep $f.json",
                "{\"deeper\":{\"x\":\"y\"}}\nDirectory not empty\nnull",
            ),
            (
                "e w $f.d/pk other; last | head -n1; e rm $f.d/sk; e rmdir $f.d; e ls $g/none.d; e w $g/none.d/x 1",
                "Invalid argument\n  One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key\nInvalid argument\nOperation not permitted\nNo such file or directory\nNo such file or directory",
            ),
            (
                "echo more >> $f.d/new; cat $f.d/new; sed 's/more/less/' $f.d/new | cat > $f.d/new; jq -r .new $f.json; e cat $f.d/status.d",
                "text\nmore\ntext\nless\nNo such file or directory",
            ),
            (
                "cp -r $f.d /tmp/ddbfs.d.$$ && diff -r $f.d /tmp/ddbfs.d.$$ && rm -r /tmp/ddbfs.d.$$; touch $f.d/nothing; e cat $f.d/nothing",
                "No such file or directory",
            ),
        ],
    );
}

#[test]
fn an_item_is_replaced_if_it_is_of_that_version() {
    let mount = mount_with(r#"{"n":1}"#);
    check(
        &mount,
        &[
            (
                "v=$(jq -r .etag $f.meta); w $f.$v.casjson '{\"n\":2}'; e w $f.$v.casjson '{\"n\":3}'; last; cat $f.json; e cat $f.$v.casjson",
                "Stale file handle\n  the item is not of that version any more\n  hint: its etag is in X.meta; with -o lww X.json takes any text, whatever the version. The item is unchanged.\n{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\nStale file handle",
            ),
            (
                "cat $f.$(getfattr --only-values -n user.ddb.etag $f.json 2>/dev/null || jq -r .etag $f.meta).casjson; e cat $f.x.casjson; e w $g/none.1.casjson '{}'; e cat $g/none.json",
                "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\nNo such file or directory\nStale file handle\nNo such file or directory",
            ),
        ],
    );
}

#[test]
fn what_is_known_of_an_item() {
    let mount = mount_with(r#"{"status":"open","created":"2024"}"#);
    check(
        &mount,
        &[
            (
                "jq -c '[.key,.size,.capacity,.indexes,.ttl]' $f.meta",
                r#"[{"pk":"u1","sk":"o1"},29,{"read":0.5,"read_consistent":1,"write":1},[{"name":"by-status","path":"Orders/gsi/by-status/items/open/2024,u1,o1.json"}],null]"#,
            ),
            (
                "cat $(jq -r .indexes[0].path $f.meta); jq -r .path $f.meta; stat -c %s $f.meta | grep -qx $(wc -c < $f.meta) && echo size",
                "{\"status\":\"open\",\"created\":\"2024\",\"pk\":\"u1\",\"sk\":\"o1\"}\nOrders/items/u1/o1.json\nsize",
            ),
            (
                "e cat $g/none.meta; e w $f.meta x",
                "No such file or directory\nRead-only file system",
            ),
        ],
    );
}

#[test]
fn a_rename_is_one_transaction() {
    let mount = mount_with(r#"{"n":1}"#);
    check(
        &mount,
        &[
            (
                "mv $f.json $g/o2.json; ls $g; cat $g/o2.json",
                "o2.json\n{\"pk\":\"u1\",\"sk\":\"o2\",\"n\":1}",
            ),
            (
                "mkdir Orders/items/u2; mv $g/o2.json Orders/items/u2/; ls $g Orders/items/u2; cat Orders/items/u2/o2.json",
                "Orders/items/u1:\n\nOrders/items/u2:\no2.json\n{\"pk\":\"u2\",\"sk\":\"o2\",\"n\":1}",
            ),
            (
                "w $f.json '{\"n\":2}'; mv -n $f.json Orders/items/u2/o2.json; cat $f.json; mv $f.json Orders/items/u2/o2.json; cat Orders/items/u2/o2.json; ls $g",
                "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\n{\"pk\":\"u2\",\"sk\":\"o2\",\"n\":2}",
            ),
            (
                "rmdir $g; for n in 1 2 3; do w Orders/items/u2/i$n.json \"{\\\"i\\\":$n}\"; done; mv Orders/items/u2 $g; ls Orders/items $g; cat $g/i2.json",
                "Orders/items:\nu1\n\nOrders/items/u1:\ni1.json\ni2.json\ni3.json\no2.json\n{\"pk\":\"u1\",\"sk\":\"i2\",\"i\":2}",
            ),
            (
                "mkdir Orders/items/u5 && mv -T $g Orders/items/u5 && ls Orders/items && mv Orders/items/u5 $g; mkdir Orders/items/e1 && mv Orders/items/e1 Orders/items/e2 && ls Orders/items && rmdir Orders/items/e2",
                "u5\ne2\nu1",
            ),
            (
                "mkdir Orders/items/u3; w Orders/items/u3/x.json '{}'; e mv -T $g Orders/items/u3; ls $g | wc -l; mv $g/i1.json $g/i1.ddbjson && cat $g/i1.json",
                "Directory not empty\n4\n{\"pk\":\"u1\",\"sk\":\"i1\",\"i\":1}",
            ),
            (
                "mv $g/i1.json Flat/items/i1.json; cat Flat/items/i1.json; ls $g",
                "{\"id\":\"i1\",\"i\":1,\"pk\":\"u1\",\"sk\":\"i1\"}\ni2.json\ni3.json\no2.json",
            ),
            (
                "w $g/st.json '{\"status\":\"open\",\"created\":\"1\"}'; mv $g/st.json $g/su.json; ls Orders/gsi/by-status/items/open; e mv $g/none.json $g/x.json",
                "1,u1,su.json\nNo such file or directory",
            ),
            (
                "e mv Orders Others; e mv Orders/gsi/by-status/items/open/1,u1,su.json $g/",
                "Operation not permitted\nRead-only file system",
            ),
        ],
    );
}

const EXCHANGE: &str = "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), int(sys.argv[3]))\nprint('ok' if r == 0 else os.strerror(ctypes.get_errno()))";

#[test]
fn renames_exchange_and_do_not_replace() {
    let mount = mount_with(r#"{"n":1}"#);
    let ran = |one: &str, other: &str, flags: u32| {
        mount
            .sh(&format!(
                "python3 -c \"{EXCHANGE}\" Orders/items/u1/{one} Orders/items/u1/{other} {flags}"
            ))
            .ok()
            .trim()
            .to_owned()
    };
    mount.sh("echo '{\"n\":2}' > Orders/items/u1/o2.json").ok();
    assert_eq!(ran("o1.json", "o2.json", 2), "ok");
    assert_eq!(
        mount.sh("cat Orders/items/u1/*").ok(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\n{\"pk\":\"u1\",\"sk\":\"o2\",\"n\":1}\n"
    );
    assert_eq!(ran("o1.json", "o3.json", 2), "No such file or directory");
    assert_eq!(ran("o1.json", "o2.json", 1), "File exists");
    assert_eq!(ran("o1.json", "o3.json", 1), "ok");
    assert_eq!(mount.sh("ls Orders/items/u1").ok(), "o2.json\no3.json\n");
}

#[test]
fn folders_of_many_items_are_moved_at_once_up_to_a_hundred() {
    let db = memory();
    create_table(&*db, ORDERS);
    create_table(&*db, FLAT);
    for (folder, count) in [("full", 100), ("over", 101)] {
        for number in 0..count {
            mounted::put(
                &*db,
                "Orders",
                &format!(r#"{{"pk":"{folder}","sk":"{number:03}","x":{number}}}"#),
            );
        }
    }
    let mount = Mount::of(db);
    let rename = |from: &str, to: &str| {
        let script = format!(
            "python3 -c \"import os; os.rename('Orders/items/{from}','Orders/items/{to}')\" 2>&1 | tail -n1; ls Orders/items | tr '\\n' ' '; ls Orders/items/{to} 2>/dev/null | wc -l"
        );
        mount.sh(&script).out
    };
    let moved = rename("full", "moved");
    assert!(moved.ends_with("100\n"), "{moved}");
    let refused = rename("over", "other");
    assert!(
        refused.contains("Invalid cross-device link") && refused.ends_with("0\n"),
        "{refused}"
    );
    // mv then copies and removes.
    assert_eq!(
        mount.sh("mv Orders/items/over Orders/items/other && ls Orders/items/other | wc -l && ls Orders/items | sort").ok(),
        "101\nmoved\nother\n"
    );
    let item = mounted::get(&*mount.db, "Orders", r#"{"pk":"other","sk":"007"}"#).unwrap();
    assert_eq!(item.get("pk"), Some(&s("other")));
}

#[test]
fn cp_copies_in_the_engine_with_the_key_rewritten() {
    let outside = tempfile::tempdir().unwrap();
    let db = on_disk(&outside.path().join("data"));
    create_table(&*db, ORDERS);
    create_table(&*db, FLAT);
    let mount = Mount::of(db);
    mount.sh(r#"mkdir Orders/items/u1 Orders/items/u2; echo '{"n":1,"status":"open","created":"1","total":5,"x":true}' > Orders/items/u1/o1.json"#).ok();
    check(
        &mount,
        &[
            (
                "cp $f.json Orders/items/u2/o9.json; cat Orders/items/u2/o9.json; cat .ddb/warnings.ndjson",
                "{\"pk\":\"u2\",\"sk\":\"o9\",\"created\":\"1\",\"n\":1,\"status\":\"open\",\"total\":5,\"x\":true}",
            ),
            (
                "cp $f.json $f.copy.ddbjson; cat $f.copy.json; e cp --reflink=never $f.ddbjson Flat/items/k.json; cp $f.ddbjson Flat/items/k.json; cat Flat/items/k.json; cat .ddb/warnings.ndjson",
                "{\"pk\":\"u1\",\"sk\":\"o1.copy\",\"created\":\"1\",\"n\":1,\"status\":\"open\",\"total\":5,\"x\":true}\nInvalid argument\n{\"id\":\"k\",\"created\":\"1\",\"n\":1,\"pk\":\"u1\",\"sk\":\"o1\",\"status\":\"open\",\"total\":5,\"x\":true}",
            ),
            (
                "cp $g/o1.json $g/.scratch; cmp $g/o1.json $g/.scratch; rm $g/.scratch; e cp $f.json $f.json; cp README.md $g/.readme && cmp README.md $g/.readme; rm $g/.readme",
                "cp: 'Orders/items/u1/o1.json' and 'Orders/items/u1/o1.json' are the same file"
                    .rsplit(": ")
                    .next()
                    .unwrap(),
            ),
            (
                "python3 -c \"\nimport os\nr = os.open('$f.json', os.O_RDONLY); w = os.open('$g/part.json', os.O_WRONLY | os.O_CREAT)\nn = 0\nwhile True:\n    c = os.copy_file_range(r, w, 7)\n    n += c\n    if c == 0: break\nprint(n)\nos.close(w)\"; jq -c '[.sk,.n]' $g/part.json",
                "77\n[\"part\",1]",
            ),
        ],
    );
    let traced = mount.sh("command -v strace >/dev/null || exit 0; strace -f -e trace=copy_file_range cp Orders/items/u1/o1.json Orders/items/u2/t.json 2>&1 | grep -c 'copy_file_range.* = [1-9]'");
    println!("copy_file_range calls of cp: {}", traced.out.trim());
}

/// Checks `-o keep_text`: a read returns the written text, by every route that writes a text, until
/// the item changes otherwise.
#[test]
fn written_texts_are_read_back_where_they_are_kept() {
    let keep = ViewOptions {
        keep_text: true,
        ..ViewOptions::default()
    };
    let db = memory();
    create_table(&*db, FLAT);
    let mount = Mount::with(db, keep);
    let same = "t=$(mktemp -d); trap 'rm -r $t' EXIT; d=Flat/items; is() { cmp $1 $2 && [ $(stat -c %s $2) = $(wc -c < $1) ] || exit 9; }\n";
    let cases = [
        (
            "a shell",
            "printf '{ \"n\" : 1.50,\\n  \"a\":[ ] }\\n\\n' > $t/a; cat $t/a > $d/a.json; is $t/a $d/a.json",
        ),
        (
            "white space in writes of its own",
            "{ printf '{\"n\": 2}'; /bin/echo; /bin/echo ' '; } | tee $t/b > $d/b.json; is $t/b $d/b.json",
        ),
        (
            "white space is there when its write returns",
            "python3 -c \"import os; f = os.open('$d/w.json', os.O_CREAT | os.O_EXCL | os.O_WRONLY); os.write(f, b'{\\\"n\\\": 2}'); os.write(f, b'\\n'); assert os.fstat(f).st_size == 9\"",
        ),
        (
            "cp, with its key",
            "jq -n '{id:\"c\",n:3}' > $t/c; cp $t/c $d/c.json; is $t/c $d/c.json; cp $d/c.json $t/d; is $t/d $d/c.json",
        ),
        (
            "a rename",
            "jq -n '{n:4}' > $t/e; cp $t/e $d/.e.tmp; mv $d/.e.tmp $d/e.json; is $t/e $d/e.json",
        ),
        (
            "an edit",
            "jq -n '{n:5}' > $t/f; cp $t/f $d/f.json; sed -i 's/5/66/' $t/f $d/f.json; is $t/f $d/f.json",
        ),
        (
            "rsync settles",
            "mkdir $t/s; for i in 1 2 3; do jq -n \"{n:$i}\" > $t/s/r$i.json; done; rsync -rc $t/s/ $d/ && [ -z \"$(rsync -rci $t/s/ $d/)\" ]",
        ),
        (
            "a change ends it",
            "printf '{\"n\":  7}' > $d/g.json; echo '{\"m\":1}' > $d/g.patch; [ \"$(cat $d/g.json)\" = '{\"id\":\"g\",\"m\":1,\"n\":7}' ]",
        ),
        (
            "what says another key is not kept",
            "printf '{\"id\":\"x\", \"n\":8}' > $d/h.json; [ \"$(cat $d/h.json)\" = '{\"id\":\"h\",\"n\":8}' ]",
        ),
        (
            "queries show the item",
            "printf '{\"n\":  9}' > $d/i.json; [ \"$(cat Flat/query/@pk=i/items.ndjson)\" = '{\"id\":\"i\",\"n\":9}' ]",
        ),
    ];
    for (name, script) in cases {
        let ran = mount.sh(&format!("{same}{script}"));
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{name}: {ran:#?}");
    }
    put(&*mount.db, "Flat", r#"{"id":"a","n":10}"#);
    assert_eq!(
        mount
            .sh("cat Flat/items/a.json; stat -c %s Flat/items/a.json")
            .ok(),
        "{\"id\":\"a\",\"n\":10}\n18\n"
    );
    // The texts are in the memory of one mount only.
    let again = mount.again();
    assert_eq!(
        again.sh("cat Flat/items/e.json").ok(),
        "{\"id\":\"e\",\"n\":4}\n"
    );
}

/// Checks the size of a deleted file in each process: fstat does not say through which descriptor
/// it comes.
#[test]
fn a_deleted_file_has_for_each_process_the_size_of_what_it_opened() {
    let mount = Mount::with_tables();
    let other = "import os, sys; f = os.open(sys.argv[1], 0); print(os.fstat(f).st_size, flush=True); sys.stdin.readline(); print(os.fstat(f).st_size)";
    for longer in ["1", "12345678"] {
        let script = format!(
            r#"
import os, subprocess, sys
path, pipe = "Flat/items/x.json", subprocess.PIPE
run = lambda text: subprocess.run(["sh", "-c", text], check=True)
run("echo '{{\"v\":1234}}' > " + path)
held = os.open(path, os.O_RDONLY)
size = os.fstat(held).st_size
run("echo '{{\"v\":{longer}}}' > " + path)
others = [subprocess.Popen([sys.executable, "-c", "{other}", path], stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
sizes = [int(other.stdout.readline()) for other in others]
run("rm " + path)
found = [int(other.communicate("\n")[0]) for other in others]
assert (os.fstat(held).st_size, found) == (size, sizes), (os.fstat(held).st_size, size, found, sizes)
assert os.fstat(held).st_nlink == 0 and sizes[0] != size
"#
        );
        mount.sh(&format!("python3 - <<'END'{script}END")).ok();
    }
    mount.end();
}
