use super::*;

#[test]
fn dead_numbers_are_what_was_rolled_back_and_nothing_else() {
    let mut dead = Dead::default();
    let mut model = [false; 100];
    for (from, to) in [(10, 20), (30, 40), (35, 50), (50, 60), (15, 70), (80, 81), (75, 90), (90, 91)] {
        dead.add(from, to);
        (from..to).for_each(|number| model[number as usize] = true);
        for (number, is_dead) in (0..).zip(model) {
            assert_eq!(dead.has(number), is_dead, "{number} after {from}..{to}");
        }
    }
    assert_eq!(dead.0, [(10, 70), (75, 91)]);
    assert!(!dead.is_all(10, 91));
    dead.add(8, 92);
    assert!(dead.is_all(10, 92) && dead.is_all(8, 92) && !dead.is_all(7, 92) && !dead.is_all(8, 93));
}
