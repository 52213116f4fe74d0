//! `<Table>/queries/`: links and requests, kept over mounts, finite for every program that walks the tree.

use crate::support::mounted::{FLAT, Mount, ORDERS, create_table, memory, on_disk, put};

fn orders(mount: &Mount) {
    for (pk, sk, status, total) in [
        ("u1", "a", "open", 5),
        ("u1", "b", "held", 50),
        ("u1", "c", "open", 500),
        ("u2", "a", "open", 1),
    ] {
        let item = format!(
            r#"{{"pk":"{pk}","sk":"{sk}","status":"{status}","created":"{sk}","total":{total}}}"#
        );
        put(&*mount.db, "Orders", &item);
    }
}

fn mounted() -> Mount {
    let mount = Mount::with_tables();
    orders(&mount);
    mount
}

#[test]
fn a_link_is_a_query_by_name() {
    let mount = mounted();
    let script = r"
        cd Orders
        ln -s '../query/@pk=u1/desc' queries/latest
        ln -s '../gsi/by-status/query/@pk=open/where.total.gt=3' queries/big
        ln -s ../query/@pk=u1/count queries/how-many
        ls queries
        readlink queries/latest
        cat queries/latest/keys
        cat queries/latest/limit=1/select=total/items.ndjson
        cat queries/big/count queries/how-many
        ls queries/latest/
        cat queries/latest/000001,* | jq .total";
    let expected = "big\nhow-many\nlatest\n../query/@pk=u1/desc\nitems/u1/c.json\nitems/u1/b.json\nitems/u1/a.json\n{\"total\":500}\n2\n3\n\
        000001,c.json\n000002,b.json\n000003,a.json\n500\n";
    assert_eq!(mount.sh(script).ok(), expected);
    let script = r"
        cd Orders/queries
        mv latest newest && ls
        mv -T big newest && readlink newest
        ln -sfn ../query/@pk=u2 newest && cat newest/count
        rm newest how-many && ls -A";
    assert_eq!(
        mount.sh(script).ok(),
        "big\nhow-many\nnewest\n../gsi/by-status/query/@pk=open/where.total.gt=3\n1\n"
    );
}

#[test]
fn a_request_is_a_query_by_name() {
    let mount = mounted();
    let script = r##"
        cd Orders
        cat > queries/open.json <<'END'
{"KeyConditionExpression": "#p = :p AND sk >= :s",
 "FilterExpression": "#s IN (:open, :held) AND (#t > :t OR attribute_not_exists(#t))",
 "ExpressionAttributeNames": {"#p": "pk", "#s": "status", "#t": "total"},
 "ExpressionAttributeValues": {":p": {"S": "u1"}, ":s": {"S": "a"}, ":open": {"S": "open"}, ":held": {"S": "held"}, ":t": {"N": "9"}},
 "ProjectionExpression": "sk, #t", "ScanIndexForward": false}
END
        ls queries; [ $(stat -c %s queries/open.json) = $(wc -c < queries/open.json) ] || echo another size
        cat queries/open/items.ndjson
        cat queries/open/count queries/open/limit=1/keys
        jq -r .KeyConditionExpression queries/open/request.json
        ls queries/open/ && cat queries/open/000001,* | jq .total
        ls queries/open/desc 2>&1 | sed 's/.*: //'
        cat queries/open/where.total.lt=100/items.csv"##;
    let expected = "open.json\n{\"sk\":\"c\",\"total\":500}\n{\"sk\":\"b\",\"total\":50}\n2\nitems/u1/c.json\n\
        #pk = :pk AND #sk >= :sk\n000001,c.json\n000002,b.json\n500\nInvalid argument\nsk,total\nb,50\n";
    assert_eq!(mount.sh(script).ok(), expected);
    let script = r##"
        cd Orders/queries
        echo '{"TableName":"Orders","IndexName":"by-status","KeyConditionExpression":"#s = :s","ExpressionAttributeNames":{"#s":"status"},"ExpressionAttributeValues":{":s":{"S":"open"}}}' > by.json
        cat by/count; cat by/000001,*; cat by/limit=1/keys
        echo '{"FilterExpression":"#t < :t","ExpressionAttributeNames":{"#t":"total"},"ExpressionAttributeValues":{":t":{"N":"10"}}}' > cheap.json
        cat cheap/count
        echo '{"FilterExpression":"#t < :t","ExpressionAttributeNames":{"#t":"total"},"ExpressionAttributeValues":{":t":{"N":"100"}}}' > cheap.json
        cat cheap/count
        mv cheap.json dear.json; cat dear/count; rm dear.json by.json open.json; ls -A"##;
    let expected = "3\n{\"status\":\"open\",\"created\":\"a\",\"pk\":\"u1\",\"sk\":\"a\",\"total\":5}\nitems/u1/a.json\n2\n3\n3\n";
    let ran = mount.sh(script);
    assert_eq!(ran.out, expected, "{ran:?}");
}

#[test]
fn what_is_no_query_is_refused_when_it_is_saved() {
    let mount = mounted();
    for (command, status, message) in [
        (
            "ln -s ../query/@pk=u1/dsc queries/a",
            "EINVAL",
            "did you mean 'desc'?",
        ),
        (
            "ln -s ../query/count queries/a",
            "EINVAL",
            "a query needs @pk=…",
        ),
        (
            "ln -s ../items/u1 queries/a",
            "EINVAL",
            "'../items/u1' is no query",
        ),
        (
            "ln -s ../gsi/none/query queries/a",
            "EINVAL",
            "there is no 'none' in",
        ),
        (
            "ln -s /etc/passwd queries/a",
            "EINVAL",
            "'/etc/passwd' does not begin with ../",
        ),
        (
            "ln -s ../query/@pk=u1 queries/a.json",
            "EINVAL",
            "that of a saved request",
        ),
        (
            "ln -s ../query/@pk=u1 queries/.a",
            "EINVAL",
            "begins with a letter or digit",
        ),
        ("ln -s x items/a", "EPERM", "links are made in queries/"),
        (
            "echo '{\"KeyConditionExpression\":\"pk = :p\"}' > queries/a.json",
            "EINVAL",
            "not defined; attribute value: :p",
        ),
        (
            "echo '{\"TableName\":\"Flat\"}' > queries/a.json",
            "EINVAL",
            "TableName of this request cannot be saved",
        ),
        (
            "echo '{\"Limit\":\"x\"}' > queries/a.json",
            "EINVAL",
            "STRING_VALUE cannot be converted to Integer",
        ),
        ("echo '{bad' > queries/a.json", "EINVAL", "expected"),
        (
            "echo hello > queries/a",
            "EINVAL",
            "a saved query is a link",
        ),
        ("mkdir queries/a", "EROFS", ""),
        ("rmdir queries", "EROFS", ""),
    ] {
        let ran = mount.sh(&format!(
            "cd Orders; {command} && echo done; cat ../.ddb/errors/last; ls queries"
        ));
        assert!(
            ran.out.contains(status) && ran.out.contains(message) && !ran.out.contains("done"),
            "{command}: {ran:?}"
        );
        assert!(
            ran.out.ends_with("\n") && !ran.out.contains("\na"),
            "{command}: nothing was saved: {ran:?}"
        );
    }
}

#[test]
fn saved_queries_are_there_at_the_next_mount_and_go_with_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let db = on_disk(directory.path());
    create_table(&*db, ORDERS);
    create_table(&*db, FLAT);
    let mount = Mount::of(db);
    let save = "ln -s '../query/@pk=u1/desc' Orders/queries/latest; echo '{}' > Orders/queries/all.json; ln -s ../scan/limit=1 Flat/queries/one";
    mount.sh(save).ok();
    mount.end();
    let mount = Mount::of(on_disk(directory.path()));
    orders(&mount);
    assert_eq!(
        mount.sh("ls Orders/queries Flat/queries; cat Orders/queries/latest/count Orders/queries/all/count").ok(),
        "Flat/queries:\none\n\nOrders/queries:\nall.json\nlatest\n3\n4\n"
    );
    mount.sh("rmdir Flat && mkdir Flat@id:S && ls -A Flat/queries && [ -z \"$(ls -A Flat/queries)\" ]").ok();
    mount.end();
}

#[test]
fn programs_that_walk_the_tree_end() {
    let mount = Mount::of({
        let db = memory();
        create_table(&*db, ORDERS);
        db
    });
    orders(&mount);
    let script = r"
        set -e
        ln -s '../query/@pk=u1/desc' Orders/queries/latest; ln -s ../scan Orders/queries/all; echo '{}' > Orders/queries/every.json
        out=$(mktemp -d)
        find . -type l | grep queries | sort; find . -name '*.json' | grep -c every
        grep -rl --exclude=README.md open . | sort
        tar cf $out/t.tar . && tar tf $out/t.tar | grep queries | sort
        rsync -a ./ $out/copy/ && readlink $out/copy/Orders/queries/latest
        cp -r Orders $out/cp && readlink $out/cp/queries/all
        du -s . > /dev/null
        rm -r $out";
    let expected = "./Orders/queries/all\n./Orders/queries/latest\n16\n./Orders/gsi/by-status/items/open/a,u1,a.json\n\
        ./Orders/gsi/by-status/items/open/a,u2,a.json\n./Orders/gsi/by-status/items/open/c,u1,c.json\n./Orders/items/u1/a.json\n\
        ./Orders/items/u1/c.json\n./Orders/items/u2/a.json\n./Orders/queries/\n./Orders/queries/all\n./Orders/queries/every.json\n\
        ./Orders/queries/latest\n../query/@pk=u1/desc\n../scan\n";
    let ran = mount.sh(script);
    assert!(ran.status == 0 && ran.err.is_empty(), "{ran:?}");
    let lines = |text: &str| {
        text.lines()
            .filter(|line| line.parse::<u32>().is_err())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&ran.out), lines(expected), "{ran:?}");
}
