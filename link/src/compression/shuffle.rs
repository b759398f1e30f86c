//! Bytes sorted by their place in an element: signs and exponents of neighbours are much alike, low
//! digits are not.

/// All first bytes of the elements, then all second ones, and so on; what is no whole element stays
/// behind.
pub fn shuffle(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut shuffled = vec![0; bytes.len()];
    match width {
        2 => shuffle_by::<2>(bytes, &mut shuffled),
        4 => shuffle_by::<4>(bytes, &mut shuffled),
        8 => shuffle_by::<8>(bytes, &mut shuffled),
        16 => shuffle_by::<16>(bytes, &mut shuffled),
        _ => {
            let count = bytes.len() / width;
            for (place, plane) in
                shuffled[..count * width].chunks_exact_mut(count.max(1)).enumerate()
            {
                plane
                    .iter_mut()
                    .zip(bytes.chunks_exact(width))
                    .for_each(|(byte, element)| *byte = element[place]);
            }
        }
    }
    let whole = bytes.len() / width * width;
    shuffled[whole..].copy_from_slice(&bytes[whole..]);
    shuffled
}

/// Widths known to the compiler become vector code.
fn shuffle_by<const WIDTH: usize>(bytes: &[u8], shuffled: &mut [u8]) {
    let count = bytes.len() / WIDTH;
    for place in 0..WIDTH {
        let plane = &mut shuffled[place * count..(place + 1) * count];
        plane
            .iter_mut()
            .zip(bytes.chunks_exact(WIDTH))
            .for_each(|(byte, element)| *byte = element[place]);
    }
}

/// Undoes [`shuffle`].
pub fn unshuffle(shuffled: &[u8], width: usize) -> Vec<u8> {
    let mut bytes = vec![0; shuffled.len()];
    match width {
        2 => unshuffle_by::<2>(shuffled, &mut bytes),
        4 => unshuffle_by::<4>(shuffled, &mut bytes),
        8 => unshuffle_by::<8>(shuffled, &mut bytes),
        16 => unshuffle_by::<16>(shuffled, &mut bytes),
        _ => {
            let count = shuffled.len() / width;
            for (place, plane) in shuffled[..count * width].chunks_exact(count.max(1)).enumerate() {
                bytes
                    .chunks_exact_mut(width)
                    .zip(plane)
                    .for_each(|(element, byte)| element[place] = *byte);
            }
        }
    }
    let whole = bytes.len() / width * width;
    bytes[whole..].copy_from_slice(&shuffled[whole..]);
    bytes
}

fn unshuffle_by<const WIDTH: usize>(shuffled: &[u8], bytes: &mut [u8]) {
    let count = shuffled.len() / WIDTH;
    let planes: [&[u8]; WIDTH] =
        std::array::from_fn(|place| &shuffled[place * count..(place + 1) * count]);
    for (index, element) in bytes.chunks_exact_mut(WIDTH).enumerate() {
        element.iter_mut().zip(planes).for_each(|(byte, plane)| *byte = plane[index]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_and_length_comes_back() {
        for width in [1, 2, 3, 4, 7, 8, 16, 24, 255] {
            for length in [0, 1, width - 1, width, width + 1, 3 * width, 1000] {
                let bytes: Vec<u8> = (0..length).map(|index| (index * 7 % 251) as u8).collect();
                let shuffled = shuffle(&bytes, width);
                assert_eq!(unshuffle(&shuffled, width), bytes, "{length} bytes, width {width}");
            }
        }
    }

    #[test]
    fn planes_lie_one_behind_the_other() {
        assert_eq!(shuffle(&[1, 2, 3, 4, 5, 6, 7], 2), [1, 3, 5, 2, 4, 6, 7]);
        assert_eq!(shuffle(&[1, 2, 3, 4, 5, 6, 7], 3), [1, 4, 2, 5, 3, 6, 7]);
    }
}
